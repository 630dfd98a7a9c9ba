"""How to start a server that refuses to run as root, when we are root."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from launcher.errors import LaunchError


@dataclass(frozen=True, slots=True)
class Identity:
    """A command prefix, or a user to change to; empty means as we are."""

    prefix: tuple[str, ...] = ()
    uid: int | None = None
    gid: int | None = None


def unprivileged(binaries: Path, data: Path) -> Identity:
    """Return an identity under which Postgres agrees to start.

    A user namespace comes first: files stay ours, no permission has to be loosened, and it works
    under a home that only its owner may enter. Containers often forbid it, hence `nobody`.
    """
    if os.geteuid() != 0:
        return Identity()
    identity = in_user_namespace() or as_nobody(binaries, data)
    if identity is None:
        closed = _first_closed([binaries / "postgres", data.parent])
        raise LaunchError(
            "Postgres does not run as root, user namespaces are not allowed here, and the user "
            f"`nobody` may not enter {closed}. Start ./run as a normal user, "
            "move the folder to where all may enter, or set DATABASE_URL."
        )
    return identity


def in_user_namespace() -> Identity | None:
    """Return an identity that is not root inside a user namespace, if we may make one."""
    unshare = shutil.which("unshare")
    if unshare is None:
        return None
    prefix = (unshare, "--user", "--map-user=1000", "--map-group=1000", "--")
    tried = subprocess.run([*prefix, "true"], capture_output=True, check=False)
    return Identity(prefix=prefix) if tried.returncode == 0 else None


def as_nobody(binaries: Path, data: Path) -> Identity | None:
    """Return the user `nobody` if it can reach both folders; lets it pass the data's parent."""
    if _first_closed([binaries / "postgres", data.parent]) is not None:
        return None
    try:
        nobody = pwd.getpwnam("nobody")
    except KeyError:
        return None
    # Passing through is enough for nobody; what lies beside stays readable to its owner alone.
    data.parent.chmod(data.parent.stat().st_mode | 0o011)
    return Identity(uid=nobody.pw_uid, gid=nobody.pw_gid)


def give_ownership(folder: Path, identity: Identity) -> None:
    """Make a folder and all in it belong to whom the identity runs as."""
    if os.geteuid() != 0:
        return
    uid, gid = identity.uid or 0, identity.gid or 0
    if folder.stat().st_uid == uid:
        return
    # From the inside out: an interrupted change is seen by the folder's own owner and repeated.
    for parent, _, files in os.walk(folder, topdown=False):
        os.chown(parent, uid, gid)
        for name in files:
            os.chown(Path(parent, name), uid, gid, follow_symlinks=False)


def _first_closed(paths: Iterable[Path]) -> Path | None:
    for path in paths:
        for parent in path.resolve().parents:
            if not parent.stat().st_mode & 0o001:
                return parent
    return None
