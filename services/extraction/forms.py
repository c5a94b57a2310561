"""The forms of sentence in which something of the person's is said to be something: my X is Y, X 用 Y."""

import re

from services.extraction.lexicon import macros

_SUBJECT = (
    r"(?P<own>我们?|咱们?|"
    r"本)?(?:家里?的?(?![具电庭人乡长政务常在有])(?=..))?(?:(?<=们)这个 ?)?"
    r"(?P<s>[^,，。:：]{1,24}?)"
)
_WHEN = rf"(?: |{macros()['time']}|现在|目前|如今|已经|早就|都|也|就|一直|默认|还|正式|固定)*"
CHINESE = tuple(
    re.compile(rf"^{_SUBJECT}{_WHEN}{verb}$")
    for verb in (
        r"是(?!用) ?(?P<v>[^,，。]{1,20}?) ?(?:写|搭|开发|实现|搭建)的",
        r"(?:是)?用(?![的着得过不])(?P<v>[^,，。]{1,30}?)(?:写|做|搭|开发|实现|搭建)的?",
        r"(?:放|存|记|写|管|保存)在(?P<v>[^,，。]{1,24}?)(?:里面?|上)?",
        r"在(?P<v>[^,，。]{1,24}?)(?:里|上)(?:面)?(?:管|记|写|做|存)",
        r"(?:改名|更名|改)?(?:叫做|名叫|叫)(?:了)?(?P<v>[^,，。]{1,24})",
        r"(?:是|用的是|用(?![的着得过不])|改成了?|换成了?|改为|变成了?|升级到了?|改用)(?P<v>[^,，。]{1,40})",
        (
            r"(?:定|安排|排|改|挪|调|搬|移|换|迁|转|migrate ?|switch ?|move ?)(?:在|到|成|为|去)了?"
            r"(?P<v>[^,，。]{1,24}?)(?:举行|开|进行|打|上|发|做|练|跑)?"
        ),
        (
            r"(?:改|挪|换|调|放|定|排)(?:到|在|成)? ?(?P<v>(?:每)?(?:周|星期|"
            r"礼拜)[一二三四五六日天末][^,，。]{0,6}|(?:mon|"
            r"tues|wednes|thurs|fri|satur|sun)day)"
        ),
        r"(?<![现正])在(?P<v>[^,，。]{1,24})",
        r"(?:一共|总共|总计)?有(?P<v>[\d一二两三四五六七八九十百千万几]+(?:多)?(?:个|名|位|人|间|台|张|条|只|份|节|章|层|篇|首|页|匹|辆|公里|平)[^,，。]{0,8})",
        r"(?:每|逢)(?P<v>(?:个)?(?:周|星期|礼拜)[一二三四五六日天末])(?:都|会|要)*(?P<a>[^,，。]{1,8})",
    )
)
ENGLISH = re.compile(
    r"^(?P<own>my|our|the) (?P<s>(?!own )[a-z][\w'-]{0,20}(?: (?!and |i )[\w'-]{1,20}){0,3}?) "
    r"(?:(?:now|currently|always|usually|really|also|still) )?"
    r"(?P<verb>is|are|allows?|uses?|runs?(?: on)?|goes? out|goes|ends?|starts?|opens|closes|lives? in|sits? in|"
    r"supports?|meets?|happens?|takes place|rehearses?|trains?|practi[sc]es?|plays?|falls?|runs?|closes|"
    r"makes?|sells?|builds?|produces?|offers?|"
    r"costs?|(?:has |have |just |was |been )*(?:moved|switched|changed|migrated|shifted|rescheduled) (?:over )?"
    r"(?:to|from [a-z0-9 ]{1,20} to)|has|have) "
    r"(?:(?:now|currently|always|called|named|written in|based on|based in|built with|made of) )?"
    r"(?P<v>[^;!?\n]{1,80})$"
)
ENGLISH_IS = re.compile(
    r"^(?P<own>my|our) (?P<s>(?!own )[a-z][a-z-]{1,20}(?: [a-z-]{1,20}){0,2}?)(?P<verb>'s) (?:now )?"
    r"(?P<v>(?:an?|called) [^;!?\n]{1,60})$"
)
ON_A_DAY = re.compile(
    r"^(?P<own>we|i) (?!(?:(?:now|always|usually) )?(?:forget|miss|lose|fail|struggle|feel|hate|"
    r"love|like|need|want|wish|wake|sleep|oversleep|cry|worry|get|am)(?![a-z]))"
    r"(?:(?:now|always|usually) )?(?P<s>[a-z]+)(?P<o>(?: [a-z]+){0,3}?) on "
    r"(?P<v>(?:mon|tues|wednes|thurs|fri|satur|sun)days)(?: now)?$"
)
NOW = re.compile(
    r"^(?!(?:it|that|this|he|she|they|i|we|you|there|everything|all|what|here|who|everyone|life|which)(?![a-z]))"
    r"(?P<s>[a-z][a-z-]{1,20}(?: [a-z-]{2,16}){0,2}?) (?:is|are) now "
    r"(?:due |set |scheduled |held )?(?P<v>[^;!?\n]{1,40})$"
)
LATELY = re.compile(
    r"^(?!(?:it|that|this|he|she|they|i|we|you|there|everything|all|what|here|who|everyone|life|which)(?![a-z]))"
    r"(?:the |my |our )?(?P<s>[a-z][a-z-]{1,20}(?: [a-z-]{2,16}){0,2}?)(?:'s| is| are| meets?| rehearses?|"
    r" starts?| opens?|"
    r" closes?| runs?| goes| falls| happens?| takes place| gets?) (?:on |at |in )?"
    r"(?P<v>[^;!?\n]{1,40}?),? (?:now|these days|nowadays|from now on|from this week|as of (?:this|"
    r"next) (?:week|month))$"
)
HELD_ON = re.compile(
    r"^(?P<own>我们|咱们|我)(?:们)?(?:一般|都|固定|通常|每次)*(?:在)?(?P<v>(?:每个?)?(?:周|星期|礼拜)[一二三四五六日天末](?:早上|上午|中午|下午|晚上)?)"
    r"(?:都|会|要|有|去)*(?:开|上|做|打|练|踢|跑|办|搞)?(?P<s>[^,，。了过的我你他]{0,6}(?:例会|周会|站会|晨会|组会|训练|排练|合唱|社团|读书会|瑜伽课|[\u4e00-\u9fff]课))$"
)
HELD_AT = re.compile(
    r"^(?P<own>we|i) (?:(?:now|always|usually|normally) )?(?:do|have|hold|run|start|meet for) (?:our |the |my |a )?"
    r"(?P<s>[a-z][a-z -]{2,24}?) (?:is )?(?P<v>(?:at|from) \d[^,;!?\n]{0,12}?)"
    r"(?: (?:every|each|on) [a-z ]{3,20}|daily| (?:mon|tues|wednes|thurs|fri|satur|sun)days)$"
)
MOVED_TO = re.compile(
    r"^(?!(?:it|that|this|he|she|they|i|we|you|there|everything|everyone)(?:'s|'ve|'re)? )"
    r"(?:(?:heads up|fyi|btw|update|note|so|and|ok(?:ay)?)[,:]? )*(?:the |my |"
    r"our )?(?P<s>[a-z][a-z-]{1,20}(?: [a-z-]{2,16}){0,2}?)"
    r"(?:'s| is| are| has| have| was| got| gets)?(?: been| being| now| permanently)* (?:moved|moving|shifted|"
    r"shifting|pushed|changed|changing|"
    r"rescheduled|brought forward|going) (?:back |forward |up )?(?:from [a-z0-9: ]{1,20} )?to (?P<v>[^;!?\n]{1,40}?)"
    r"(?: (?:as of|from|starting|beginning|effective) [a-z0-9 ]{3,20}| for good| permanently| from now on)*$"
)
WE_USE = re.compile(
    r"^(?P<own>we|i|they(?=(?:'ve| have)? moved (?:my|our) ))(?:'ve| have)? (?:(?:now|currently|just|always|all|"
    r"mostly|recently) )?(?:"
    r"use (?P<v>[^,;!?\n]{1,40}?) for (?:my |our |all my |all our )?(?P<s>[a-z][\w -]{1,24})|"
    r"(?:moved|migrated|switched|ported|converted|relocated) (?:my |our |the )?"
    r"(?P<s2>(?!to |from |in |into |back |over |house|home|away)[a-z][\w -]{1,24}?) "
    r"(?:over )?(?:from [^,;!?\n]{1,24} )?to "
    r"(?P<v2>[^,;!?\n]{1,40}))$"
)
ITS = re.compile(r"^(?:it|they) (?P<always>always |usually |never )(?P<v>[a-z][^;!?\n]{2,60})$")
