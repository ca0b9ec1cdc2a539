"""Which files hold secrets by their names: they are never copied into a restore point. Pure.

Names of files are looked at, never folders and never content; there is no way to switch it off.
"""

from fnmatch import fnmatchcase

_PATTERNS = (
    ".env", ".env.*", "*.env", ".envrc", "credentials", "credentials.*", "credentials-*", "credentials_*", "secrets",
    "secrets.*", "secrets-*", "secrets_*", "secret.*", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore",
    "*.kdbx", "id_rsa", "id_dsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk", "id_rsa.*", "*.ppk",
    ".netrc", "_netrc", ".pgpass", ".npmrc", ".pypirc", ".htpasswd", ".git-credentials", ".dockercfg",
    "service-account*.json", "service_account*.json",
)  # fmt: skip
# the public halves and the templates that projects commit on purpose
_HARMLESS = ("*.pub", ".env.example", ".env.sample", ".env.template", ".env.dist", ".env.defaults")


def is_sensitive(path: str) -> bool:
    """Whether a file's base name is one of those that hold secrets, in upper or lower case."""
    name = path.rpartition("/")[2].lower()
    if any(fnmatchcase(name, pattern) for pattern in _HARMLESS):
        return False
    return any(fnmatchcase(name, pattern) for pattern in _PATTERNS)
