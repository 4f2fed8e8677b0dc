"""Two versions of a program that answers questions about an online shop's orders: what the demo compares."""

from __future__ import annotations

ANSWERS = {
    "return": "You can return any item within 30 days, in its original packaging.",
    "refund": "Refunds arrive within 5 working days, on the card you paid with.",
    "ship": "Standard shipping takes 3 to 5 working days; express takes 1.",
    "track": "Open Orders in your account and choose Track: the carrier's link is there.",
    "cancel": "An order can be cancelled until it is packed: Orders, then Cancel.",
    "password": "Choose Forgot password on the sign-in page; the link is valid for one hour.",
    "invoice": "Every invoice is in your account under Orders, as a PDF.",
    "warranty": "All devices have a warranty of two years from the day of delivery.",
}
OTHER_WORDS = {
    "send back": "return",
    "money back": "refund",
    "deliver": "ship",
    "arrive": "ship",
    "where is": "track",
    "call off": "cancel",
    "log in": "password",
    "sign in": "password",
    "bill": "invoice",
    "receipt": "invoice",
    "broke": "warranty",
    "defect": "warranty",
}
PERSON = "I do not know that. A colleague will answer by e-mail within one working day."


def v1(question: str) -> str:
    """Answer by the first word that it knows."""
    for word, answer in ANSWERS.items():
        if word in question.lower():
            return answer
    return PERSON


def v2(question: str) -> str:
    """Understand other words for the same thing as well."""
    for words, word in OTHER_WORDS.items():
        if words in question.lower():
            return ANSWERS[word]
    return v1(question)
