"""The one place where everything is wired: a process takes from here what it runs."""

from collections.abc import Awaitable, Callable, Sequence

from events.sealer import Sealer
from ops.composition.upkeep import Upkeep
from projections.follower import Follower
from services.forgetting.backups import BackupKeys
from services.forgetting.letters import DeadLetters
from workers import backups, compare, erase, project, reclaim, remember, rewrite, roll, seal, upkeep
from workers.delivery import Delivery, Route
from workers.ingest import TurnStream
from workers.jobs import ERASE, REMEMBER, TURNS
from workers.letters import LetterBox

Work = Callable[[], Awaitable[None]]
_TURNS_AT_ONCE = 2
_EMBEDDED_AT_ONCE = 50


class Composition(Upkeep):
    """Everything a process may run: what the classes below it build, and the loops and routes of every worker."""

    def delivery(self, *routes: Route) -> Delivery:
        """Consume Redis streams."""
        return Delivery(self.endpoints.redis_url, routes, self.settings.delivery_cap, self.settings.reclaim_idle_ms)

    def workers(self) -> dict[str, tuple[Sequence[Work], Sequence[Callable[[], Route]]]]:
        """Return every worker by name: loops it runs, and routes it consumes."""
        comparing = [self._compare] if self.settings.compare_every_s else []
        return {
            # what starts last is stopped first: the last checkpoint covers all that was sealed
            "seal": ([self._checkpoint, lambda: seal.seal(Sealer(self.log("sealer")))], []),
            "project": ([self._project, self._reclaim_vectors, *comparing], []),
            "ingest": ([self._rewrite], [lambda: self._turns().route()]),
            "remember": (
                [self._sweep],
                [lambda: self._remembering(self._parking).route(self._turns_at_once)],
            ),
            "upkeep": ([self._upkeep, self._expire_backup_keys], []),
            "erase": (
                [
                    lambda: erase.resume(self.finisher),
                    lambda: erase.locate(self.locator, self.log("eraser").url),
                    self._reclaim_tables,
                ],
                [lambda: erase.EraseJobs(self.finisher, self.letters).route()],
            ),
            "roll": ([lambda: roll.roll(self.roller, self.schedule)], []),
        }

    @property
    def letter_box(self) -> LetterBox:
        """Dead letters, with the handlers of their streams."""
        return LetterBox(
            DeadLetters(self.log("eraser"), self.vault("eraser")),
            {
                TURNS: self._turns,
                REMEMBER: lambda: self._remembering(self._parking),
                ERASE: lambda: erase.EraseJobs(self.finisher, self.letters),
            },
        )

    def _turns(self) -> TurnStream:
        return TurnStream(self.ingest, self.tokens.verifier, self._parking, self.limits)

    async def _checkpoint(self) -> None:
        settings = self.settings
        await seal.checkpoint(self.checkpointer, settings.checkpoint_every_s, settings.checkpoint_every_events)

    async def _upkeep(self) -> None:
        every_s = (self.settings.upkeep_every_s, self.settings.tidy_every_s)
        rounds = (self.expiry, self.tidying(), self.retention)
        followers = (self.shredder, Follower(self.embedding, self.log("eraser"), _EMBEDDED_AT_ONCE))
        await upkeep.upkeep(*rounds, followers, self.log("eraser").url, every_s)

    async def _expire_backup_keys(self) -> None:
        await backups.expire(BackupKeys(self.log("eraser")), self.settings.upkeep_every_s)

    async def _reclaim_tables(self) -> None:
        tables = self.reclaiming_tables

        async def step() -> int:
            await tables.step()
            await self.append_only_file.reclaim()
            return await self.purger.step()

        await reclaim.reclaim(step, self.settings.purge_every_s)

    async def _reclaim_vectors(self) -> None:
        await reclaim.reclaim(self.reclaiming_vectors.step, self.settings.purge_every_s)

    async def _rewrite(self) -> None:
        await rewrite.rewrite(self.append_only_file, self.settings.rewrite_every_s)

    async def _sweep(self) -> None:
        # a turn that a model is still reading is not lost
        reading_s = self.settings.model_within_s if self.settings.model_url else 0
        await remember.sweep(self.log("projector"), self.jobs, self.settings.sweep_after_s + reading_s)

    @property
    def _turns_at_once(self) -> int:
        return max(_TURNS_AT_ONCE, self.settings.model_at_once if self.settings.model_url else 0)

    async def _project(self) -> None:
        projector = self.log("projector")
        models = [*self.projections().values(), self.beside, project.Dispatch(self.jobs)]
        followers = [Follower(model, projector) for model in models]
        await project.project(followers, projector.url, self.reindex.retire)

    async def _compare(self) -> None:
        # small batches and as much rest as work: the same event loop may serve requests
        differ = self.differ(batch=100, rest=1)
        await compare.compare(compare.Comparison(self.log("projector"), differ, self.settings.compare_every_s))

    def _remembering(self, letters: DeadLetters) -> remember.RememberJobs:
        return remember.RememberJobs(self.rememberer, letters, self.summaries)
