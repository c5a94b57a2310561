import struct
from base64 import b64encode
from datetime import UTC, datetime

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from events.errors import BadInputError, TamperError
from events.keychain import KeyChain, introduce
from events.note import COSIGNATURE_V1, Checkpoint, Note, NoteSigner, Signature, VerifierKey, cosigned

# the example of Go's sumdb/note, which signed-note implementations share
PETER = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
SAID = (
    "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n\n"
    "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
)
# the example of C2SP tlog-cosignature
SOFA = (
    "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n"
    "— example.com/behind-the-sofa"
    " Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n"
    "— witness.example.com/w1"
    " jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3b2oyin1nPZqhf5nNo0xUe+mbIUBkBIfZ+qnA==\n"
)
AT = datetime(2026, 8, 1, 9, tzinfo=UTC)


def signer(number: int, name: str = "cenotaph/test") -> NoteSigner:
    return NoteSigner(name, Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32))


def witness(note: Note, private: Ed25519PrivateKey, name: str = "witness.example/w") -> tuple[Note, VerifierKey]:
    """Cosign as a witness does: with its own time in what is signed and in the signature."""
    key = VerifierKey(name, private.public_key().public_bytes_raw(), COSIGNATURE_V1)
    stamp = struct.pack(">Q", int(AT.timestamp()))
    line = Signature(name, key.key_id, stamp + private.sign(cosigned(note.text, stamp)))
    return Note(note.text, (*note.signatures, line)), key


def test_a_note_others_signed_is_read_and_verified() -> None:
    """The shared example parses, writes itself back, and holds under its published key."""
    note, key = Note.parse(SAID), VerifierKey.parse(PETER)
    assert str(note) == SAID
    assert str(key) == PETER
    assert note.signed_by(key)
    assert not Note.parse(SAID.replace("problem is", "problem was")).signed_by(key)


def test_the_cosigned_example_is_read() -> None:
    """The specification's example has the size, the two signers and the key ids it shows."""
    note = Note.parse(SOFA)
    assert str(note) == SOFA
    found = Checkpoint.parse(note.text)
    assert (found.origin, found.size) == ("example.com/behind-the-sofa", 20852163)
    assert [each.name for each in note.signatures] == ["example.com/behind-the-sofa", "witness.example.com/w1"]
    assert note.signatures[1].key_id.hex() == "8d66cf3f"


@given(st.integers(0, 2**63), st.binary(min_size=32, max_size=32), st.integers(0, 255))
def test_a_checkpoint_holds_under_its_key_only(size: int, root: bytes, number: int) -> None:
    """What was signed is read back; another key of the same name, or a changed text, does not verify."""
    one, two = signer(number), signer((number + 1) % 256)
    text = Checkpoint("cenotaph/test", size, root).text
    note = Note.parse(str(Note(text, (one.sign(text),))))
    assert Checkpoint.parse(note.text) == Checkpoint("cenotaph/test", size, root)
    assert note.signed_by(one.key)
    assert not note.signed_by(two.key)
    assert not Note(text, (Signature("cenotaph/test", two.key.key_id, note.signatures[0].value),)).signed_by(two.key)
    assert not Note(Checkpoint("cenotaph/test", size + 1, root).text, note.signatures).signed_by(one.key)


def test_a_cosignature_says_when() -> None:
    """A witness's line holds for its time and text only, and a log's signature is never taken for one."""
    text = Checkpoint("cenotaph/test", 7, bytes(32)).text
    note, key = witness(Note(text, (signer(1).sign(text),)), signer(9).private)
    assert Note.parse(str(note)).cosigned_by(key) == AT
    assert note.signed_by(signer(1).key)
    (own, theirs) = note.signatures
    later = struct.pack(">Q", int(AT.timestamp()) + 1) + theirs.value[8:]
    assert Note(text, (own, Signature(key.name, key.key_id, later))).cosigned_by(key) is None
    assert Note(text.replace("7", "8"), note.signatures).cosigned_by(key) is None
    assert note.cosigned_by(signer(1).key) is None
    assert not note.signed_by(key)
    assert VerifierKey.parse(str(key)) == key


@pytest.mark.parametrize(
    "raw",
    [
        "",
        "text\n",
        "text\n\n",
        "text\n\n— name AAAAAAAA",
        "text\n\n- name AAAAAAAA\n",
        "text\n\n— na+me AAAAAAAA\n",
        "text\n\n— name AAAA\n",
        "text\n\n— name not-base64\n",
        "te\rxt\n\n— name AAAAAAAA\n",
    ],
)
def test_what_is_no_note_is_refused(raw: str) -> None:
    """Anything but text, an empty line and whole signature lines is not a note."""
    with pytest.raises(TamperError):
        Note.parse(raw)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "o\n1\n",
        "o\n01\n" + "A" * 43 + "=\n",
        "o\n-1\n" + "A" * 43 + "=\n",
        "\n1\n" + "A" * 43 + "=\n",
        "o\n1\nAA==\n",
    ],
)
def test_what_is_no_checkpoint_is_refused(text: str) -> None:
    """A size with a leading zero or a sign, a short root or an empty origin is not a checkpoint."""
    with pytest.raises(TamperError):
        Checkpoint.parse(text)


@pytest.mark.parametrize(
    "text",
    ["", "x", "a+b+c", PETER[:-1], PETER.replace("c7", "c8"), "a b" + PETER, f"n+00000000+{b64encode(b'!').decode()}"],
)
def test_what_is_no_public_key_is_refused(text: str) -> None:
    """A key whose parts do not belong together is refused before anything is trusted to it."""
    with pytest.raises(BadInputError):
        VerifierKey.parse(text)


def chain_of(*afters: int) -> list[str]:
    return [
        introduce(signer(number), number, after, signer(number - 1) if number else None)
        for number, after in enumerate(afters)
    ]


def test_a_chain_is_followed_from_its_first_key() -> None:
    """Each key is in force from its own size to its successor's, and never beyond."""
    chain, problem = KeyChain.follow(chain_of(0, 10, 30), signer(0).key)
    assert problem is None
    assert chain.first == signer(0).key
    found = {size: chain.at(size) for size in (1, 10, 11, 30, 31, 99)}
    assert {size: each and each.number for size, each in found.items()} == {1: 0, 10: 0, 11: 1, 30: 1, 31: 2, 99: 2}


def test_a_chain_that_does_not_hold_is_named() -> None:
    """A key that is missing, strange to its predecessor, of another log, or not the pinned one ends the chain there."""
    good = chain_of(0, 10, 30)
    alone = introduce(signer(5), 1, 10, None)
    other = introduce(signer(1, "cenotaph/other"), 1, 10, signer(0))
    stolen = introduce(signer(2), 2, 30, signer(1)).replace("30", "31")
    older = introduce(signer(2), 2, 5, signer(1))
    for notes, pinned, holds, words in (
        ([], None, 0, "there is no signing key"),
        (good, signer(3).key, 0, "not the pinned one"),
        ([good[0], good[2]], None, 1, "key 1 is missing"),
        ([good[0], alone], None, 1, "key 1 is not signed by its predecessor"),
        ([good[0], other], None, 1, "key 1 is of another log"),
        ([*good[:2], stolen], None, 2, "key 2 did not sign"),
        ([*good[:2], older], None, 2, "key 2 claims to be older"),
        ([*good[:2], "nonsense"], None, 2, "key 2: a signed note is"),
    ):
        chain, problem = KeyChain.follow(notes, pinned)
        assert len(chain.keys) == holds
        assert problem is not None
        assert words in problem


def test_an_introduction_is_no_checkpoint_and_the_other_way_round() -> None:
    """A signature over one is never taken for a signature over the other."""
    with pytest.raises(TamperError):
        Checkpoint.parse(Note.parse(chain_of(0)[0]).text)
    text = Checkpoint("cenotaph/test", 7, bytes(32)).text
    _, problem = KeyChain.follow([str(Note(text, (signer(0).sign(text),)))])
    assert problem == "key 0: the note introduces no signing key"
