"""How programs save a text: each changes ``beta`` to ``BETA`` in a file, as its users have it do that."""

import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from programs.terminal import at_terminal

BEFORE, AFTER = "alpha\nbeta\ngamma\n", "alpha\nBETA\ngamma\n"
TIMEOUT_S = 20


def run(*words: str | Path, cwd: Path | None = None, stdin: str = "") -> str:
    """Run a program that must succeed, in English and without anybody's settings; return what it printed."""
    environ = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LC_ALL": "C.UTF-8", "TERM": "xterm"}
    done = subprocess.run(
        words, cwd=cwd, input=stdin, env=environ, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    assert done.returncode == 0, f"{words}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def vim(note: Path, *settings: str) -> None:
    """Edit without a terminal, with a swap file; ``backupskip`` would make an exception for temporary directories."""
    given = [word for one in ("swapfile", "directory=.", "backupskip=", *settings) for word in ("--cmd", f"set {one}")]
    swap = "+call writefile([swapname('%')], '/dev/stdout')"
    said = run("vim", "-es", "-N", "-u", "NONE", "-i", "NONE", *given, swap, "+%s/beta/BETA/", "+wq", note)
    assert said.strip().endswith(f"/.{note.name}.swp")


def vim_that_copies(note: Path) -> None:
    inode = note.stat().st_ino
    vim(note, "writebackup", "backupcopy=yes")
    assert inode == note.stat().st_ino


def vim_that_renames(note: Path) -> None:
    inode = note.stat().st_ino
    vim(note, "writebackup", "backupcopy=no")
    assert inode != note.stat().st_ino


def vim_that_keeps_a_backup(note: Path) -> None:
    vim(note, "backup")


def vim_at_a_terminal(note: Path) -> None:
    at_terminal(["vim", "-N", "-u", "NONE", "-i", "NONE", note], [("gamma", ":%s/beta/BETA/\r"), ("BETA", ":wq\r")])


def nano_keys(note: Path) -> list[tuple[str, str]]:
    """Down, cut the line, type another; write out, to this name; leave."""
    return [("gamma", "\x1b[B\x0bBETA\r"), ("BETA", "\x0f"), (note.name, "\r"), ("Wrote", "\x18")]


def nano(note: Path) -> None:
    at_terminal(["nano", "-I", note], nano_keys(note))


def nano_that_keeps_a_backup(note: Path) -> None:
    at_terminal(["nano", "-I", "-B", note], nano_keys(note))


def emacs(note: Path, settings: str = "") -> None:
    """Edit in batch mode; in temporary directories Emacs would keep no backup. It goes without its lock here."""
    backup = "(setq backup-enable-predicate (lambda (_) t))"
    edit = '(progn (search-forward "beta") (replace-match "BETA" t) (save-buffer))'
    run("emacs", "-Q", "--batch", "--eval", f"(progn {backup} {settings})", note, "--eval", edit)


def emacs_that_copies(note: Path) -> None:
    emacs(note, "(setq backup-by-copying t)")


def emacs_precious(note: Path) -> None:
    """Emacs's own atomic save: a temporary file beside the note, renamed over it."""
    emacs(note, "(setq file-precious-flag t)")


def ed(note: Path) -> None:
    run("ed", "-s", note, stdin="/beta/s/beta/BETA/\nw\nq\n")


def sed_in_place(note: Path) -> None:
    run("sed", "-i", "s/beta/BETA/", note)


def sed_with_a_backup(note: Path) -> None:
    run("sed", "-i~", "s/beta/BETA/", note)


def perl_in_place(note: Path) -> None:
    run("perl", "-pi", "-e", "s/beta/BETA/", note)


def redirected(note: Path) -> None:
    run("sh", "-c", 'text=$(sed s/beta/BETA/ "$1"); printf "%s\\n" "$text" >"$1"', "sh", note)


def truncate_and_write(note: Path) -> None:
    """VS Code's save: open the file, empty it, write, make it durable, close."""
    file = os.open(note, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
    os.write(file, AFTER.encode())
    os.fdatasync(file)
    os.close(file)


def atomic_save(note: Path) -> None:
    """VS Code's atomic save: look, write a temporary file of the note's bits beside it, rename it over."""
    bits = note.stat().st_mode & 0o777
    temporary = note.with_name(f"{note.name}.vsctmp")
    file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, bits)
    os.write(file, AFTER.encode())
    os.fdatasync(file)
    os.close(file)
    temporary.rename(note)


def tempfile_and_replace(note: Path) -> None:
    with tempfile.NamedTemporaryFile("w", dir=note.parent, delete=False) as made:
        made.write(AFTER)
        made.flush()
        os.fsync(made.fileno())
    Path(made.name).replace(note)


def in_place(note: Path) -> None:
    with note.open("r+b") as file:
        file.seek(len("alpha\n"))
        file.write(b"BETA")


SAVES: dict[str, tuple[Callable[[Path], None], set[str]]] = {
    "vim-backupcopy-yes": (vim_that_copies, set()),
    "vim-backupcopy-no": (vim_that_renames, set()),
    "vim-backup": (vim_that_keeps_a_backup, {"note.md~"}),
    "vim-terminal": (vim_at_a_terminal, set()),
    "nano": (nano, set()),
    "nano-backup": (nano_that_keeps_a_backup, {"note.md~"}),
    "emacs": (emacs, {"note.md~"}),
    "emacs-by-copying": (emacs_that_copies, {"note.md~"}),
    "emacs-precious": (emacs_precious, {"note.md~"}),
    "ed": (ed, set()),
    "sed-i": (sed_in_place, set()),
    "sed-i-backup": (sed_with_a_backup, {"note.md~"}),
    "perl-i": (perl_in_place, set()),
    "shell": (redirected, set()),
    "truncate-and-write": (truncate_and_write, set()),
    "atomic-save": (atomic_save, set()),
    "tempfile-and-replace": (tempfile_and_replace, set()),
    "in-place": (in_place, set()),
}
"""Each save by its name, with the local-only files that it leaves beside the note."""
