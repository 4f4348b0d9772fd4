"""What recorders count, for OpenTelemetry to read: numbers and fixed words, nothing of what was recorded."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from engine.records.recorder import process_counters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from opentelemetry.metrics import CallbackOptions, MeterProvider, Observation

_INSTRUMENTS: Final = (
    ("records", "Decisions by what became of their records.", {"written", "dropped", "failed"}, ""),
    ("outcomes", "What was said of decisions afterwards.", {"written", "failed"}, "outcomes_"),
    ("erasures", "Erasures by whether they were carried out.", {"written", "failed"}, "erasures_"),
)


def expose_counters(provider: "MeterProvider | None" = None) -> None:
    """Have OpenTelemetry read the totals of this process whenever it collects; to be called once.

    The instruments are ``treewright.recording.records``, ``.outcomes`` and ``.erasures``, each with the one
    attribute ``result``, and ``.log_failures`` without any. Without a provider it is the global one. Raises
    ``ModuleNotFoundError`` unless the extra ``otel`` is installed.
    """
    from opentelemetry import metrics

    meter = (provider or metrics.get_meter_provider()).get_meter("treewright")
    for name, told, results, prefix in _INSTRUMENTS:
        meter.create_observable_counter(
            f"treewright.recording.{name}",
            [_reading({f"{prefix}{result}": {"result": result} for result in sorted(results)})],
            description=told,
        )
    meter.create_observable_counter(
        "treewright.recording.log_failures",
        [_reading({"log_failures": {}})],
        description="What could not be logged.",
    )


def _reading(
    wanted: dict[str, dict[str, str]],
) -> "Callable[[CallbackOptions], Iterable[Observation]]":
    from opentelemetry.metrics import Observation

    def read(_options: "CallbackOptions") -> "Iterable[Observation]":
        totals = asdict(process_counters())
        return [Observation(totals[counter], attributes) for counter, attributes in wanted.items()]

    return read
