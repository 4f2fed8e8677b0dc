"""The judge prompts of the decomposition metrics, one question per step."""

from __future__ import annotations

from prompt_evaluator.metrics.judging import opinions_question, texts_question

YES_NO = ("yes", "no")
YES_NO_IDK = ("yes", "no", "idk")

CLAIMS = texts_question(
    "claims",
    """\
You take a text apart. List every factual claim that the part `output` makes, in its order.
A claim is one checkable statement that can be understood on its own: replace pronouns by what they stand for, and \
split a sentence that says two things. Keep what the text says even where it is wrong, and add nothing that you know \
yourself. Leave out questions, greetings, offers and opinions. If nothing is claimed, the list is empty.""",
)

TRUTHS = texts_question(
    "truths",
    """\
You take texts apart. List the facts that the parts `context_1`, `context_2` and so on state.
A fact is one statement that can be understood on its own. Take it from the text as it stands there, also where you \
know better, and infer nothing that is not said. If nothing is stated, the list is empty.""",
)

FAITHFULNESS = opinions_question(
    "verdicts on the claims",
    """\
You check claims against known facts. The part `truths` lists the facts, the part `claims` the numbered claims.
Give one verdict for each claim, by its number:
- yes: the facts support it.
- no: the facts contradict it.
- idk: the facts neither support nor contradict it.
Only the listed facts count, not what you know yourself. Something that is merely not mentioned is idk, never no.""",
    "number",
    YES_NO_IDK,
)

STATEMENTS = texts_question(
    "statements",
    """\
You take a text apart. List the statements of the part `output`, in its order: every piece that says, asks or shows \
one thing, whether or not it is true. A block of code is one statement; put it in a few words. Keep greetings, \
apologies and remarks about the answer itself, for they are statements too. Add nothing. If the text says nothing, \
the list is empty.""",
)

ANSWER_RELEVANCY = opinions_question(
    "verdicts on the statements",
    """\
You check whether an answer keeps to its question. The part `input` is what was asked, the part `statements` lists \
the numbered statements of the answer. Give one verdict for each statement, by its number:
- yes: it helps to answer what was asked.
- no: it has nothing to do with what was asked.
- idk: it does not answer by itself, but supports something that does, such as background or a caveat.
Whether a statement is true does not matter here.""",
    "number",
    YES_NO_IDK,
)

CONTEXTUAL_PRECISION = opinions_question(
    "verdicts on the passages",
    """\
You check what a search has found. The part `input` is the question, the part `reference` the right answer, and the \
parts `context_1`, `context_2` and so on are the passages that were found. Give one verdict for each passage, by its \
number:
- yes: the passage holds something from which the right answer follows, wholly or in part.
- no: the right answer could be given just as well without it. Being about the same topic is not enough.
Judge each passage by itself, whatever its rank.""",
    "number",
    YES_NO,
)

CONTEXTUAL_RECALL = opinions_question(
    "verdicts on the sentences",
    """\
You check whether a search has found enough. The part `reference` is the right answer to a question, and the parts \
`context_1`, `context_2` and so on are the passages that were found. Go through the sentences of `reference` in their \
order, all of them, and give one verdict for each:
- yes: what the sentence says can be traced to at least one passage. Name the passage in the reason.
- no: no passage says it.
Only the passages count, not what you know yourself.""",
    "sentence",
    YES_NO,
)

CONTEXTUAL_RELEVANCY = opinions_question(
    "verdicts on the statements of the context",
    """\
You check what a search has found. The part `input` is the question, and the parts `context_1`, `context_2` and so on \
are the passages that were found. Take the passages apart into their statements, in their order, all of them, and \
give one verdict for each:
- yes: the statement is of use for answering the question.
- no: it is not. Being about the same topic is not enough.
If the passages state nothing, the list is empty.""",
    "statement",
    YES_NO,
)
