# What `import cadda` offers, for type checkers and for lazy loading.
from ._version import __version__ as __version__
from .api.fit import evaluate as evaluate
from .api.fit import fit as fit
from .api.prepare import operation_pool as operation_pool
from .api.probe import probe as probe
from .api.result import SearchResult as SearchResult
from .api.search import search as search
from .data.io.exchange import windows_from_braindecode as windows_from_braindecode
from .data.io.exchange import windows_from_moabb as windows_from_moabb
from .data.io.exchange import windows_to_braindecode as windows_to_braindecode
from .data.io.exchange import windows_to_moabb as windows_to_moabb
from .data.io.preprocess import Preprocessing as Preprocessing
from .data.io.read import read_windows as read_windows
from .data.simulation.motor_imagery import simulate_motor_imagery as simulate_motor_imagery
from .data.simulation.nights import simulate_sleep as simulate_sleep
from .data.windows import Windows as Windows
from .estimators import AugmentedClassifier as AugmentedClassifier
from .exceptions import CaddaError as CaddaError
from .exceptions import DataError as DataError
from .exceptions import DataWarning as DataWarning
from .exceptions import LeakError as LeakError
from .exceptions import ModelError as ModelError
from .exceptions import PolicyFileError as PolicyFileError
from .exceptions import RunError as RunError
from .exceptions import TrainingError as TrainingError
from .exceptions import WorkerError as WorkerError
from .experiments.compare import compare as compare
from .experiments.result import StudyResult as StudyResult
from .experiments.study import ResultTable as ResultTable
from .integrations.skorch import AugmentationCallback as AugmentationCallback
from .models.serialization import ModelDescription as ModelDescription
from .models.serialization import load_model as load_model
from .operations import LabelMap as LabelMap
from .operations import Operation as Operation
from .operations import OperationPool as OperationPool
from .operations import image_pool as image_pool
from .policies import EnumeratedPolicy as EnumeratedPolicy
from .policies import MixturePolicy as MixturePolicy
from .policies import Policy as Policy
from .policies import PolicySpec as PolicySpec
from .policies import RelaxedPolicy as RelaxedPolicy
from .policies import StagedPolicy as StagedPolicy
from .policies.schedule import PolicySchedule as PolicySchedule
from .policies.schedule import Segment as Segment
from .policies.spec.braindecode_transforms import (
    policy_from_braindecode as policy_from_braindecode,
)
from .probing.probe_result import ProbeResult as ProbeResult
from .probing.probe_result import ProposedMap as ProposedMap
from .reporting.probe_records import ProbeMatrix as ProbeMatrix
from .reporting.probe_records import ProbeRow as ProbeRow
from .reporting.race import CandidateRow as CandidateRow
from .reporting.race import RaceFacts as RaceFacts
from .reporting.race import RaceVerdict as RaceVerdict
from .reporting.records import Reading as Reading
from .runs.splits import split_from as split_from
from .searchers.events import ClassRewards as ClassRewards
from .searchers.events import PolicyProposed as PolicyProposed
from .searchers.events import RaceRound as RaceRound
from .searchers.events import Retrained as Retrained
from .searchers.events import SearchEnd as SearchEnd
from .searchers.events import SearchEpoch as SearchEpoch
from .searchers.events import SearchStart as SearchStart
from .searchers.events import TrialEnd as TrialEnd
from .searchers.gradient.faster_autoaugment import FasterSettings as FasterSettings
from .searchers.gradient.settings import BilevelSettings as BilevelSettings
from .searchers.trials.optuna_search import TrialSettings as TrialSettings
from .searchers.trials.population import PopulationSettings as PopulationSettings
from .training import Fitted as Fitted
from .training.metrics import Scores as Scores
from .training.metrics import SubjectScores as SubjectScores
from .training.progress import EpochEnd as EpochEnd
from .training.progress import LeakReading as LeakReading
from .training.progress import TrainingEnd as TrainingEnd
from .training.settings import TrainingSettings as TrainingSettings

__all__ = [
    "AugmentationCallback",
    "AugmentedClassifier",
    "BilevelSettings",
    "CaddaError",
    "CandidateRow",
    "ClassRewards",
    "DataError",
    "DataWarning",
    "EnumeratedPolicy",
    "EpochEnd",
    "FasterSettings",
    "Fitted",
    "LabelMap",
    "LeakError",
    "LeakReading",
    "MixturePolicy",
    "ModelDescription",
    "ModelError",
    "Operation",
    "OperationPool",
    "Policy",
    "PolicyFileError",
    "PolicyProposed",
    "PolicySchedule",
    "PolicySpec",
    "PopulationSettings",
    "Preprocessing",
    "ProbeMatrix",
    "ProbeResult",
    "ProbeRow",
    "ProposedMap",
    "RaceFacts",
    "RaceRound",
    "RaceVerdict",
    "Reading",
    "RelaxedPolicy",
    "ResultTable",
    "Retrained",
    "RunError",
    "Scores",
    "SearchEnd",
    "SearchEpoch",
    "SearchResult",
    "SearchStart",
    "Segment",
    "StagedPolicy",
    "StudyResult",
    "SubjectScores",
    "TrainingEnd",
    "TrainingError",
    "TrainingSettings",
    "TrialEnd",
    "TrialSettings",
    "Windows",
    "WorkerError",
    "__version__",
    "compare",
    "evaluate",
    "fit",
    "image_pool",
    "load_model",
    "operation_pool",
    "policy_from_braindecode",
    "probe",
    "read_windows",
    "search",
    "simulate_motor_imagery",
    "simulate_sleep",
    "split_from",
    "windows_from_braindecode",
    "windows_from_moabb",
    "windows_to_braindecode",
    "windows_to_moabb",
]
