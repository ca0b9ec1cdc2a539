"""Which files hold secrets by their names: they are never copied into a restore point. Pure.

Names of files are looked at, never folders and never content; there is no way to switch it off.
"""

_NAMES = frozenset(
    (
        ".env", ".envrc", "credentials", "secrets", "id_rsa", "id_dsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519",
        "id_ed25519_sk", ".netrc", "_netrc", ".pgpass", ".npmrc", ".pypirc", ".htpasswd", ".git-credentials",
        ".dockercfg",
    )
)  # fmt: skip
_BEGINNINGS = (
    ".env.", "credentials.", "credentials-", "credentials_", "secrets.", "secrets-", "secrets_", "secret.", "id_rsa.",
    "service-account", "service_account",
)  # fmt: skip
_ENDINGS = (".env", ".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk")
# the public halves, the templates that projects commit on purpose, and code that is only about such things
_HARMLESS = (".pub", ".env.example", ".env.sample", ".env.template", ".env.dist", ".env.defaults")
_JSON_ONLY = ("service-account", "service_account")


def is_sensitive(path: str) -> bool:
    """Whether a file's base name is one of those that hold secrets, in upper or lower case."""
    name = path.rpartition("/")[2].lower()
    if name.endswith(_HARMLESS) or (name.startswith(_JSON_ONLY) and not name.endswith(".json")):
        return False
    return name in _NAMES or name.startswith(_BEGINNINGS) or name.endswith(_ENDINGS)
