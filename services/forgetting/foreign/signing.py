"""Signed requests: HTTP Message Signatures (RFC 9421), Ed25519 over method, target and content digest (RFC 9530)."""

from base64 import b64decode, b64encode
from hashlib import sha256
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from events.keyfile import key_file, write_once
from events.note import holds

_COVERED = '("@method" "@target-uri" "content-digest")'


class RequestSigner:
    """Signs requests with a key kept in a file of mode 0600; the public half lies beside it, for the application.

    Args:
        folder: the folder of key files.
    """

    def __init__(self, folder: Path) -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(key_file(folder / "layers.key"))
        self.public = b64encode(self._key.public_key().public_bytes_raw()).decode()
        write_once(folder / "layers.pub", self.public.encode() + b"\n")

    def headers(self, url: str, body: bytes, created: int) -> dict[str, str]:
        """Return the headers that sign a POST; `created` is seconds since 1970."""
        digest = f"sha-256=:{b64encode(sha256(body).digest()).decode()}:"
        parameters = f'{_COVERED};created={created};keyid="{self.public}";alg="ed25519"'
        signature = b64encode(self._key.sign(_base(url, digest, parameters))).decode()
        return {
            "Content-Digest": digest,
            "Signature-Input": f"cenotaph={parameters}",
            "Signature": f"cenotaph=:{signature}:",
        }


def verified(url: str, body: bytes, headers: dict[str, str], public: str) -> bool:
    """Check the headers of a request as an application does; names are in lower case, `public` is in base64."""
    digest = f"sha-256=:{b64encode(sha256(body).digest()).decode()}:"
    named = headers.get("signature-input", "")
    signature = headers.get("signature", "")
    if headers.get("content-digest") != digest or not named.startswith(f"cenotaph={_COVERED};"):
        return False
    try:
        raw = b64decode(signature.removeprefix("cenotaph=:").removesuffix(":"), validate=True)
        return holds(b64decode(public), raw, _base(url, digest, named.removeprefix("cenotaph=")))
    except ValueError:
        return False


def _base(url: str, digest: str, parameters: str) -> bytes:
    lines = ('"@method": POST', f'"@target-uri": {url}', f'"content-digest": {digest}')
    return "\n".join((*lines, f'"@signature-params": {parameters}')).encode()
