"""What a finding says that its remedy wins, beside what fresh runs show."""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Prediction:
    """Seconds of run time. `seen`, `inside`: None, where nothing was proved, or the finding gives no interval."""

    finding: str
    lost: float | None  # None: a danger, not a loss of time
    low: float | None
    high: float | None
    seen: float | None = None  # less run time, by medians of fresh runs
    inside: bool | None = None  # does that lie in the interval?

    def beside(self, seen: float) -> "Prediction":
        """With what was seen."""
        known = self.low is not None and self.high is not None
        inside = self.low <= seen <= self.high if known else None  # type: ignore[operator]
        return replace(self, seen=seen, inside=inside)
