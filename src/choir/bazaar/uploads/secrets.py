"""Files that look like secrets by their names: they are not sent unless somebody names them. Pure."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

_SECRET = re.compile(
    r"(\.env(\.(?!example$|sample$|template$|dist$).*)?|.+\.env|\.envrc"
    r"|.*\.(pem|key|p8|p12|pfx|ppk|jks|keystore|kdbx|asc|gpg|agekey|ovpn|tfstate|tfvars)"
    r"|id_(rsa|dsa|ecdsa|ed25519).*|\.netrc|_netrc|\.npmrc|\.pypirc|\.git-credentials|\.htpasswd|\.pgpass|\.my\.cnf"
    r"|\.dockercfg|kubeconfig|\.vault[-_]?pass.*|credentials(\.json)?|secrets?\.(ya?ml|json|toml)"
    r"|.*secret.*\.(ya?ml|json|toml|ini|cfg|conf|properties|env|txt|csv)"  # data, not code that is about secrets
    r"|service[-_]?account.*\.json|operator\.token)(\.(bak|old|orig|save)|~)?",
    re.IGNORECASE,
)
_SECRET_FOLDERS = frozenset({".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker"})


def looks_secret(path: str) -> bool:
    """Whether a file should not leave its owner's machine by accident."""
    place = PurePosixPath(path)
    return _SECRET.fullmatch(place.name) is not None or not _SECRET_FOLDERS.isdisjoint(place.parts[:-1])
