// The TypeScript SDK as a client of the store server: does each thing once and prints what it saw, as one JSON object.
// The base URL and the key come in the environment; what must hold is said by the test that runs this.
import Anthropic, {
  AuthenticationError, BadRequestError, ConflictError, NotFoundError, PermissionDeniedError,
} from "@anthropic-ai/sdk";

const requests = [];
const counting = (url, options) => {
  requests.push(`${options.method} ${new URL(url).pathname}`);
  return fetch(url, options);
};
const options = { baseURL: process.env.MEMFS_URL, fetch: counting };
const client = new Anthropic({ ...options, apiKey: process.env.MEMFS_KEY });
const { memoryStores } = client.beta;
const { memories, memoryVersions } = memoryStores;
const STALE = { type: "content_sha256", content_sha256: "0".repeat(64) };

async function all(pages) {
  const found = [];
  for await (const item of pages) found.push(item);
  return found;
}

/** What a call that must fail failed with, and how many requests it took. */
async function refusal(call) {
  const before = requests.length;
  try {
    await call();
  } catch (error) {
    const kinds = { AuthenticationError, BadRequestError, ConflictError, NotFoundError, PermissionDeniedError };
    const kind = Object.keys(kinds).find((name) => error instanceof kinds[name]) ?? error.constructor.name;
    return {
      kind,
      status: error.status,
      type: error.error.error.type,
      sameRequestId: error.requestID === error.error.request_id,
      requests: requests.length - before,
      conflicting: [error.error.error.conflicting_path ?? null, error.error.error.conflicting_memory_id ?? null],
    };
  }
  return { kind: null };
}

const store = await memoryStores.create({ name: "From Node.js", description: "é\u2028", metadata: { kept: "1", gone: "2" } });
const changed = await memoryStores.update(store.id, { name: "Renamed", metadata: { gone: null } });
const one = { memory_store_id: store.id };

const content = "één\r\n\u0000\u2028";
const made = await memories.create(store.id, { path: "/notes/a.md", content, view: "full" });
const fitting = { type: "content_sha256", content_sha256: made.content_sha256 };
const edited = await memories.update(made.id, { ...one, content: "two", precondition: fitting });
const moved = await memories.update(made.id, { ...one, path: "/notes/b.md" });
const read = await memories.retrieve(made.id, one);
const refusals = {
  stale: await refusal(() => memories.update(made.id, { ...one, content: "three", precondition: STALE })),
  taken: await refusal(() => memories.create(store.id, { path: "/notes/b.md", content: "" })),
  below: await refusal(() => memories.create(store.id, { path: "/notes/b.md/c", content: "" })),
  staleDelete: await refusal(() => memories.delete(made.id, { ...one, expected_content_sha256: "0".repeat(64) })),
  wrongPath: await refusal(() => memories.create(store.id, { path: "relative", content: "" })),
  unknown: await refusal(() => memories.retrieve("mem_unknown", one)),
  head: await refusal(() => memoryVersions.redact(moved.memory_version_id, one)),
  bothBetas: await refusal(() => memoryStores.list({ betas: ["managed-agents-2026-04-01"] })),
  wrongKey: await refusal(() => new Anthropic({ ...options, apiKey: "wrong" }).beta.memoryStores.list()),
};

for (let n = 0; n < 25; n += 1) await memories.create(store.id, { path: `/many/${n % 2}/${n}`, content: `${n}` });
const listed = {
  paths: (await all(memories.list(store.id, { limit: 4 }))).map((item) => item.path),
  contents: (await all(memories.list(store.id, { view: "full", limit: 100, path_prefix: "/many/1/" }))).map((item) => item.content),
  level: (await all(memories.list(store.id, { depth: 1, limit: 1 }))).map((item) => [item.type, item.path]),
  stores: (await all(memoryStores.list({ limit: 100 }))).map((item) => item.id).includes(store.id),
};

const deleted = await memories.delete(made.id, { ...one, expected_content_sha256: read.content_sha256 });
const history = await all(memoryVersions.list(store.id, { memory_id: made.id, limit: 1 }));
const redacted = await memoryVersions.redact(made.memory_version_id, one);
const first = await memoryVersions.retrieve(made.memory_version_id, one);
const second = await memoryVersions.retrieve(edited.memory_version_id, one);

const session = await client.beta.sessions.create({
  agent: "agent_a",
  environment_id: "env_a",
  resources: [{ type: "memory_store", ...one, instructions: "read it first" }],
});
const theirs = new Anthropic({ ...options, authToken: session.sessions_token }).beta.memoryStores;
const written = await theirs.memories.create(store.id, { path: "/by/a/session", content: "" });
const { created_by: author } = await memoryVersions.retrieve(written.memory_version_id, one);
refusals.byToken = await refusal(() => theirs.create({ name: "not theirs to make" }));
const sessions = {
  made: session,
  read: await client.beta.sessions.retrieve(session.id),
  listed: (await all(client.beta.sessions.list({ ...one, limit: 1 }))).map((item) => item.id),
  author,
  archived: await client.beta.sessions.archive(session.id),
  deleted: await client.beta.sessions.delete(session.id),
};

const archived = await memoryStores.archive(store.id);
refusals.archived = await refusal(() => memories.create(store.id, { path: "/new", content: "" }));
const gone = await memoryStores.delete(store.id);
refusals.goneStore = await refusal(() => memoryStores.retrieve(store.id));

console.log(
  JSON.stringify({
    store, changed, made, edited, moved, read, refusals, listed, deleted, history, redacted, first, second, sessions, archived, gone,
    requestId: made._request_id,
  }),
);
