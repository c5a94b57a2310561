"""What follows the log, and what reads and checks the log itself."""

from functools import cached_property

from events.checkpointer import Checkpointer
from ops.composition.stores import Stores
from projections.facts import Facts
from projections.index import IndexReader
from projections.keywords import Keywords
from projections.mirror import Mirror, TablesMirror
from projections.model import Projection, Tables
from projections.sessions import Sessions
from projections.tasks import Tasks
from projections.vector_index import VectorIndex, VectorsBeside
from projections.vector_mirror import VectorsMirror
from services.replay.asof import History
from services.replay.diff import Differ
from services.replay.journal import Journal
from services.upkeep.embedding import Embedding
from services.upkeep.reindex import Reindex


class ReadModels(Stores):
    """What follows the log, and what reads and checks the log itself."""

    @cached_property
    def vectors(self) -> VectorIndex:
        """The vector index."""
        return VectorIndex(self.milvus, IndexReader(self.vault("opener")))

    @cached_property
    def beside(self) -> VectorsBeside:
        """The vector index of another model, while there is one."""
        return VectorsBeside(self.milvus, IndexReader(self.vault("opener")))

    def projections(self) -> dict[str, Projection]:
        """Return every read model by name (`projections.model.READ_MODELS`)."""
        index = IndexReader(self.vault("opener"))
        models: tuple[Projection, ...] = (Facts(index), Keywords(index), Sessions(), Tasks(), self.vectors)
        return {model.name: model for model in models}

    @property
    def embedding(self) -> Embedding:
        """Makes the vectors of another model."""
        return Embedding(self.log("eraser"), self.vault("eraser"), self.models)

    @property
    def reindex(self) -> Reindex:
        """Changes the model of the vector index."""
        projector, eraser, opener = self.log("projector"), self.log("eraser"), self.vault("opener")
        return Reindex(projector, eraser, opener, self.embedding, self.beside, self.models)

    def differ(self, *names: str, batch: int = 500, rest: float = 0) -> Differ:
        """Compare read models with the log: those named, or all."""
        mirrors: dict[str, Mirror] = {
            name: TablesMirror(model)
            if isinstance(model, Tables)
            else VectorsMirror(self.milvus, IndexReader(self.vault("opener")))
            for name, model in self.projections().items()
            if not names or name in names
        }
        return Differ(self.log("projector"), mirrors, batch=batch, rest=rest)

    @cached_property
    def journal(self) -> Journal:
        """Reads the log again, for one tenant."""
        return Journal(self.log("prober"), self.log("reader"), self.vault("opener"))

    @cached_property
    def history(self) -> History:
        """Reads one person's memory as it was."""
        return History(self.log("reader"), self.vault("opener"))

    @property
    def checkpointer(self) -> Checkpointer:
        """Signs the log's head."""
        return Checkpointer(self.log("sealer"), self.second_place, self.settings.keys)
