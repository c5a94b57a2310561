"""Stage 2a: what is not the person's own statement: code, quotes, tables, pasted text, fiction, material to work on."""

import re
from collections.abc import Iterator

from events.marker import injected_spans
from services.extraction.cues import has, lexicon
from services.extraction.normalise import Text
from services.extraction.tables import rows
from services.extraction.wrapping import FOREIGN_LINE

BLANK = "\ufffc"

_FENCE = re.compile(r"```|~~~")
_LINE = re.compile(rf"^{FOREIGN_LINE}[^\n]*", re.MULTILINE)
SECRET = re.compile(r"\[secret:[a-z_]{1,40}\]")  # what ingest replaced is nothing the person says
_TAG = re.compile(r"<!--|-->|</?[A-Za-z][A-Za-z0-9]{0,15}(?:\s[^<>\n]{0,200})?/?>|<!DOCTYPE[^<>]{0,100}>")
_QUOTES = re.compile(
    r"「[^「」\n]{0,2000}」|『[^『』\n]{0,2000}』|“[^“”\n]{0,2000}”|\"[^\"\n]{0,2000}\"|(?<![\w'])'[^\n]{0,500}?'(?![\w'])"
)
_SENTENCE_INSIDE = re.compile(r"[,，。.!?！？;；].|(?:我|(?<![a-z])i(?:'m)?(?![a-z]))")
_SPEECH = re.compile(r"(?:我|(?<![a-z])(?:i|i'm|my|you)(?![a-z]))")
_END_OF_REQUEST = re.compile(r"[:：][ \t]*|[:：]?[ \t]*\n|[。.!?？！][ \t]*")
_BREAK = re.compile(r"[\n。!?！？]")
_STOP = re.compile(r"[。！？!?\n]|\.(?=\s|$)")
_SAYS = re.compile(r"\w")
_CONSIDERED = 400
_AFTER = 12
_WORK_ON = re.compile(
    r"[,，]?(?:这(?:句|段|首)(?:话|诗|歌词)?)?(?:用?[^,，。]{1,4}怎么(?:说|写)|翻|译|润色|改写|怎么(?:读|念|翻)|是?什么意思|通顺|有没有语病)|"
    r" (?:into|in) [a-z]+|,? (?:means?|mean|translated|is (?:this|that) (?:correct|right))"
)
_SHOWN = re.compile(r"[印写刻标贴纹绣喷挂]着[:：]?$|(?:says|reads|printed|written|saying)(?: on it)?[:,]? ?$")
_OWN_SPEECH = re.compile(r"我(?!们|的|是谁)[^,，。]{4,}")
_RULES = re.compile(r"规则|要求|格式|偏好|风格|(?<![a-z])(?:rules?|style|format|preferences?)(?![a-z])")
_NAME = 8  # a shorter quote is a name or a value


def own_words(text: Text) -> str:
    """Return the folded text with everything that is not the person's own statement blanked out, offsets unchanged."""
    mask = bytearray(len(text.folded))
    for start, end in _blocks(text.shown):
        mask[start:end] = b"\x01" * (end - start)
    for start, end in (*_material(text.folded, mask), *dictated(text.folded), *rows(text.folded)):
        mask[start:end] = b"\x01" * (end - start)
    for start, end in _quotes(text.folded):
        mask[start:end] = b"\x01" * (end - start)
    return "".join(BLANK if masked else char for char, masked in zip(text.folded, mask, strict=True))


def _blocks(shown: str) -> Iterator[tuple[int, int]]:
    fences = [fence.start() for fence in _FENCE.finditer(shown)]
    for opening, closing in zip(fences[::2], [*fences[1::2], len(shown)][: len(fences[::2])], strict=True):
        yield opening, min(closing + 3, len(shown))
    for line in _LINE.finditer(shown):
        yield line.span()
    for mark in SECRET.finditer(shown):
        yield mark.span()
    yield from injected_spans(shown)  # our own compiled context, coming back
    tags = [tag.span() for tag in _TAG.finditer(shown)]
    if len(tags) > 1:
        yield tags[0][0], tags[-1][1]


def _quotes(folded: str) -> Iterator[tuple[int, int]]:
    """Yield quotes that are sentences or follow a request to work on them; names and values in quotes stay."""
    for quote in _QUOTES.finditer(folded):
        inside = quote.group()[1:-1]
        ahead = len(folded[: quote.start()].rstrip())  # a quote on a line of its own belongs to what announces it
        begin = max((m.end() for m in _BREAK.finditer(folded, max(0, ahead - 80), ahead)), default=0)
        before = folded[max(begin, ahead - 80) : ahead]
        after = folded[quote.end() : quote.end() + _AFTER]
        request = (has("process", before) or _WORK_ON.match(after) is not None) and not has("standing", before)
        told = _SHOWN.search(before) is not None or _OWN_SPEECH.match(inside) is not None
        if (
            request
            or (told and _SPEECH.search(inside))
            or len(_STOP.findall(inside)) > 1  # nobody states several sentences of their own in quotes
            or (len(inside) > _NAME and _SENTENCE_INSIDE.search(inside) and _SPEECH.search(inside))
        ):
            yield quote.start() + 1, quote.end() - 1


def _material(folded: str, mask: bytearray) -> Iterator[tuple[int, int]]:
    """Yield what follows a request to work on a text, and what follows the start of a fiction, up to an aside."""
    position = 0
    while position < len(folded):
        mark = _END_OF_REQUEST.search(folded, position)
        stop = mark.end() if mark else len(folded)
        sentence = folded[position:stop][-_CONSIDERED:]
        if not mask[position] and not has("standing", sentence):
            fiction = has("fiction", sentence)
            given = mark is not None and mark.group().strip() in {":", "："}
            asks = given and (has("process", sentence) or (has("voiced", sentence) and not _RULES.search(sentence)))
            if fiction or asks:
                aside = lexicon()["aside"].search(folded, stop)
                end = aside.start() if aside else len(folded)
                yield (position if fiction else stop), end
                position = _line_end(folded, end)
                continue
        position = max(stop, position + 1)


def dictated(folded: str) -> Iterator[tuple[int, int]]:
    """Yield what the person wants written in so many words: "write me a line saying I like it", 帮我写一句话."""
    for request in lexicon()["dictated"].finditer(folded):
        begin = max((m.end() for m in _STOP.finditer(folded, 0, request.start())), default=0)
        if has("standing", folded[begin : request.end()]):  # how all such texts are to be
            continue
        stop = _sentence_end(folded, request.end())
        if folded[stop : stop + 1] == "\n" and not _SAYS.search(folded, request.end(), stop):
            stop = _sentence_end(folded, stop + 1)
        yield request.start(), stop


def _sentence_end(folded: str, start: int) -> int:
    stop = _STOP.search(folded, start)
    return stop.start() if stop else len(folded)


def _line_end(folded: str, start: int) -> int:
    newline = folded.find("\n", start)
    return len(folded) if newline < 0 else newline + 1
