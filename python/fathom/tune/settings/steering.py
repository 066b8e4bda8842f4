"""Changes a run while it is watched: one rule at a time, kept where collective calls became faster, or taken back."""

from collections.abc import Callable, Collection, Mapping

from fathom.run.live import Look
from fathom.text import numbers
from fathom.tune.settings import compiled
from fathom.tune.settings.watched import Rule, Seen, rules, seen

#: Collective calls that are looked at before and after a change.
OCCURRENCES = 4
#: So many times these may pass until a library takes a hint: files have to be opened, or given hints, first.
PATIENCE = 4
#: A call must take this share of what it took, or less.
GAIN = 0.95

Put = Callable[[str, Mapping[str, str]], None]
"""Puts compiled settings in force, none where it stays as it is; what is kept of it in the run."""


class Steering:
    """What was seen since the last decision, and what is being tried."""

    def __init__(self, base: str, put: Put) -> None:
        """`base`: compiled settings in force."""
        self._rules = rules()
        self._text = base or f"{compiled.HEAD}\n"
        self._put = put
        self._looks: list[Look] = []
        self._before: Seen | None = None
        self._trying: Rule | None = None
        self._tried = ""
        self._improved = False
        self._windows = 0
        self.over = False

    def take(self, look: Look, critical: Collection[int]) -> str | None:
        """One more look. A line when it leads to a decision."""
        self._looks.append(look)
        kind = self._before.kind if self._trying and self._before else ""
        now = seen(self._looks, critical, kind)
        if now is None or now.calls < OCCURRENCES:
            return None
        self._looks = []
        if self._trying is None:
            self._before = now
            return self._choose(now)
        return self._judge(self._trying, now)

    def ended(self) -> str:
        """The run has ended: what is said then."""
        if self._trying:
            return self._line(self._trying, "the run ended before it showed")
        return f"the run ended: fewer than {OCCURRENCES} collective calls were seen since"

    def _choose(self, now: Seen) -> str | None:
        for rule in self._rules:
            if rule.speaks_to(now):
                self._rules.remove(rule)
                self._trying, self._windows = rule, 0
                hints = rule.hints(now)
                lines = [f"info {name} {value}" for name, value in hints.items()]
                self._tried = "\n".join([f"{self._text}rule", *lines]) + "\n"
                self._put(self._tried, {"rule": rule.name, "seen": self._saw(rule)})
                return None
        self.over = True
        each = f"{now.accesses:.3g} {now.kind}s of {numbers.size(now.piece)}"
        each += f" in each collective call of {numbers.seconds(now.seconds)}"
        further = "no further change" if self._improved else "no change"
        return f"{further} worth making: {now.who} is critical, with {each}"

    def _judge(self, rule: Rule, now: Seen) -> str | None:
        assert self._before
        self._windows += 1
        if self._windows == 1:  # calls from before the change are among them
            return None
        taken, faster = rule.is_taken(self._before, now), now.seconds <= GAIN * self._before.seconds
        if not taken and self._windows <= PATIENCE:
            return None
        if taken and faster:
            self._text, self._improved = self._tried, True
        old, new = self._before.figures[rule.shows], now.figures[rule.shows]
        times = f"{numbers.seconds(self._before.seconds)} became {numbers.seconds(now.seconds)}"
        became = f"{'kept' if faster else 'taken back'}: {rule.shows} {old:.3g} became {new:.3g}, a call's {times}"
        if not taken:
            calls = self._windows * OCCURRENCES
            became = f"taken back: {rule.shows} stayed {old:.3g}: no file took it in {numbers.things(calls, 'call')}"
        line = self._line(rule, became)
        self._put("" if taken and faster else self._text, {"rule": rule.name, "became": became})
        self._trying = None
        return line

    def _saw(self, rule: Rule) -> str:
        assert self._before
        return f"{self._before.who} is critical: it {rule.sees.format(**self._before.figures)}"

    def _line(self, rule: Rule, became: str) -> str:
        assert self._before
        hints = ", ".join(f"{name} = {value}" for name, value in rule.hints(self._before).items())
        return f"{self._saw(rule)}; {hints}; {became}"
