"""`.ci/setup` on machines where pieces are missing: doubles on a PATH of their own stand for the machine.

The double of python answers what the script asks of it and notes what it was told to install; nothing real is touched.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

TOOLS = (
    "bash",
    "cat",
    "cp",
    "dirname",
    "env",
    "flock",
    "head",
    "mkdir",
    "rm",
    "sed",
    "sha256sum",
    "sleep",
    "touch",
    "tr",
)
PYTHON = """#!/bin/sh
case "$*" in
  *version_info*_base_executable*) [ -e "$MACHINE/python-is-old" ] || echo "$0"; exit ;;
  *version_info*) echo python3.12-venv; exit ;;
  -VV | -V) cat "$MACHINE/version"; exit ;;
  *libfuse.so.2*) [ -e "$MACHINE/libfuse" ]; exit ;;
  *ensurepip*) [ -e "$MACHINE/venv" ]; exit ;;
esac
echo "$*" >> "$MACHINE/log"
case "$*" in
  "-m venv --clear .venv") rm -rf .venv; mkdir -p .venv/bin; cp "$0" .venv/bin/python ;;
  *"pip install"*) sleep 0.05; [ ! -e "$MACHINE/no-network" ] ;;
esac
"""
INSTALLER = """#!/bin/sh
echo "${0##*/} $*" >> "$MACHINE/log"
[ ! -e "$MACHINE/no-network" ] || exit 1
case "$*" in *libfuse2*) touch "$MACHINE/libfuse" ;; esac
case "$*" in *venv*) touch "$MACHINE/venv" ;; esac
case "$*" in *fuse3*) cp "$MACHINE/bin/true" "$MACHINE/bin/fusermount" ;; esac
"""
SUDO = '#!/bin/sh\necho "sudo $*" >> "$MACHINE/log"\nshift\nexec "$@"\n'
BEGUN = ["-m venv --clear .venv"]
INSTALLED = [
    "-m pip install -qq --disable-pip-version-check --require-hashes -r requirements.lock",
    "-m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation -e .",
]


class Machine:
    """A machine as the script sees it: what is on its PATH, who the user is, and a log of what was done to it."""

    def __init__(self, directory: Path, *, user: int) -> None:
        self.directory = directory
        self.bin = directory / "bin"
        self.bin.mkdir(parents=True)
        for tool in TOOLS:
            (self.bin / tool).symlink_to(shutil.which(tool) or tool)
        self.add("true", "#!/bin/sh\n")
        self.add("id", f"#!/bin/sh\necho {user}\n")
        self.has(version="Python 3.12.1")

    def add(self, name: str, script: str) -> None:
        (self.bin / name).write_text(script)
        (self.bin / name).chmod(0o755)

    def has(self, **facts: str) -> None:
        for name, text in facts.items():
            (self.directory / name.replace("_", "-")).write_text(text)

    def lacks(self, *names: str) -> None:
        for name in names:
            (self.directory / name).unlink()

    def start(self, checkout: Path, **settings: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [self.bin / "bash", checkout / ".ci/setup"],
            env={"PATH": str(self.bin), "MACHINE": str(self.directory), **settings},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, checkout: Path, **settings: str) -> tuple[int, str]:
        """Return the exit code and what was said on standard error."""
        process = self.start(checkout, **settings)
        _, said = process.communicate(timeout=30)
        return process.returncode, said

    def log(self) -> list[str]:
        """Return what was done since the last call."""
        log = self.directory / "log"
        lines = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return lines


@pytest.fixture
def checkout(root: Path, tmp_path: Path) -> Path:
    directory = tmp_path / "checkout"
    shutil.copytree(root / ".ci", directory / ".ci")
    for name in ("pyproject.toml", "requirements.lock"):
        shutil.copy(root / name, directory)
    return directory


@pytest.fixture
def bare(tmp_path: Path) -> Machine:
    """A Debian machine with Python and nothing else; its user may not become root."""
    machine = Machine(tmp_path / "machine", user=1000)
    machine.add("python3", PYTHON)
    machine.add("apt-get", INSTALLER)
    return machine


@pytest.fixture
def ready(bare: Machine) -> Machine:
    """The same with every piece in place."""
    bare.has(libfuse="", venv="")
    bare.add("fusermount", "#!/bin/sh\n")
    return bare


def test_what_is_missing_is_named_with_the_exact_command(bare: Machine, checkout: Path) -> None:
    code, said = bare.run(checkout)

    assert code == 1
    assert said == (
        "setup: missing: libfuse fusermount venv. Run: sudo apt-get install libfuse2 fuse3 python3.12-venv\n"
    )
    assert bare.log() == []


@pytest.mark.parametrize(
    ("lacking", "command"),
    [
        ("libfuse", "sudo apt-get install libfuse2"),
        ("venv", "sudo apt-get install python3.12-venv"),
        ("bin/fusermount", "sudo apt-get install fuse3"),
        ("bin/python3", "sudo apt-get install python3 python3-venv"),
    ],
)
def test_only_what_is_missing_is_asked_for(ready: Machine, checkout: Path, lacking: str, command: str) -> None:
    ready.lacks(lacking)

    code, said = ready.run(checkout)

    assert code == 1
    assert said.endswith(f" Run: {command}\n")
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("manager", "command"),
    [
        ("dnf", "sudo dnf install fuse-libs fuse python3"),
        ("zypper", "sudo zypper --non-interactive install libfuse2 fuse python3"),
        ("pacman", "sudo pacman -S --needed --noconfirm fuse2 fuse python"),
    ],
)
def test_other_systems_are_told_their_own_command(bare: Machine, checkout: Path, manager: str, command: str) -> None:
    bare.lacks("bin/apt-get")
    bare.add(manager, INSTALLER)

    assert bare.run(checkout) == (1, f"setup: missing: libfuse fusermount venv. Run: {command}\n")


def test_without_a_known_package_manager_the_pieces_are_named(bare: Machine, checkout: Path) -> None:
    bare.lacks("bin/apt-get")

    code, said = bare.run(checkout)

    assert code == 1
    assert said.startswith("setup: missing: libfuse fusermount venv. Install it")


def test_an_old_python_is_named_and_an_explicit_one_is_not_replaced_by_another(ready: Machine, checkout: Path) -> None:
    ready.has(python_is_old="", version="Python 3.9.2")

    expected = (
        "setup: memfs needs Python 3.11 or newer; here is Python 3.9.2. Run: make PYTHON=/path/to/python3.11 setup\n"
    )
    assert ready.run(checkout) == (1, expected)
    assert ready.run(checkout, PYTHON=str(ready.bin / "python3")) == (1, expected)


def test_a_newer_python_beside_an_old_one_is_found(ready: Machine, checkout: Path) -> None:
    ready.add("python3", "#!/bin/sh\nexit 0\n")
    ready.add("python3.12", PYTHON)

    assert ready.run(checkout) == (0, "")
    assert ready.log() == BEGUN + INSTALLED


def test_root_installs_what_is_missing_and_goes_on(bare: Machine, checkout: Path) -> None:
    bare.add("id", "#!/bin/sh\necho 0\n")

    assert bare.run(checkout) == (0, "")
    assert bare.log() == ["apt-get install -y -q libfuse2 fuse3 python3.12-venv", *BEGUN, *INSTALLED]


def test_who_may_become_root_installs_what_is_missing_and_goes_on(bare: Machine, checkout: Path) -> None:
    bare.add("sudo", SUDO)
    install = "apt-get install -y -q libfuse2 fuse3 python3.12-venv"

    assert bare.run(checkout) == (0, "")
    assert bare.log() == [
        "sudo -n true",
        f"sudo -n env DEBIAN_FRONTEND=noninteractive {install}",
        install,
        *BEGUN,
        *INSTALLED,
    ]


def test_an_installation_that_fails_says_what_to_run(bare: Machine, checkout: Path) -> None:
    bare.add("id", "#!/bin/sh\necho 0\n")
    bare.has(no_network="")
    install = "apt-get install -y -q libfuse2 fuse3 python3.12-venv"

    code, said = bare.run(checkout)

    assert code == 1
    assert said.endswith("the installation failed. Run: sudo apt-get install libfuse2 fuse3 python3.12-venv\n")
    assert bare.log() == [install, "apt-get update -qq", install]


def test_an_installation_that_does_not_help_is_told_once_and_ends(ready: Machine, checkout: Path) -> None:
    ready.lacks("libfuse")
    ready.add("id", "#!/bin/sh\necho 0\n")
    ready.add("apt-get", "#!/bin/sh\n")

    assert ready.run(checkout) == (1, "setup: libfuse: still missing after the installation\n")


def test_a_second_setup_does_nothing(ready: Machine, checkout: Path) -> None:
    assert ready.run(checkout) == (0, "")
    assert ready.log() == BEGUN + INSTALLED

    assert ready.run(checkout) == (0, "")
    assert ready.log() == []


def test_an_interrupted_setup_is_begun_anew(ready: Machine, checkout: Path) -> None:
    ready.has(no_network="")
    code, said = ready.run(checkout)
    assert (code, ready.log()) == (1, BEGUN + INSTALLED[:1])
    assert "pip says why above" in said

    ready.lacks("no-network")
    assert ready.run(checkout) == (0, "")
    assert ready.log() == BEGUN + INSTALLED


def test_new_pins_are_installed_into_the_environment_that_is_there(ready: Machine, checkout: Path) -> None:
    ready.run(checkout)
    ready.log()
    with (checkout / "requirements.lock").open("a") as lock:
        lock.write("another==1\n")

    assert ready.run(checkout) == (0, "")
    assert ready.log() == INSTALLED


@pytest.mark.parametrize("change", ["python", "place"])
def test_another_python_or_place_needs_another_environment(ready: Machine, checkout: Path, change: str) -> None:
    ready.run(checkout)
    ready.log()
    if change == "python":
        ready.has(version="Python 3.13.0")
    else:
        checkout = checkout.rename(checkout.with_name("moved"))

    assert ready.run(checkout) == (0, "")
    assert ready.log() == BEGUN + INSTALLED


def test_two_setups_at_once_take_turns(ready: Machine, checkout: Path) -> None:
    both = [ready.start(checkout) for _ in range(2)]
    said = [process.communicate(timeout=30)[1] for process in both]

    assert [(process.returncode, text) for process, text in zip(both, said, strict=True)] == [(0, ""), (0, "")]
    assert ready.log() == BEGUN + INSTALLED


def test_every_script_may_be_run(root: Path) -> None:
    assert [
        name for name in ("run", "setup", "bench-tools", "test-tools") if not os.access(root / ".ci" / name, os.X_OK)
    ] == []
