import type { AgentSnapshot } from '../../src/core/domain/agent/agent-snapshot.ts';
import { LonghaulError } from '../../src/core/domain/errors/error.ts';
import { checkJson, problemsText } from '../../src/core/json-schema/check-json-schema.ts';
import { checkProgram } from '../../src/core/program/check/check-program.ts';
import { invalidProgram } from '../../src/core/program/check/problems.ts';
import { DEFAULT_CHILD_CHECK_MS } from '../../src/core/domain/run/parent-run.ts';
import type { ProgramDocument } from '../../src/core/domain/program/document.ts';
import { QUERIES, type ResolveProgramInput, type StepValuesAnswer } from '../../src/core/protocol.ts';
import { runAttempt } from '../attempts/attempt.ts';
import { checkSnapshotSize } from '../agents/check-snapshot-size.ts';
import { failingAs } from '../failures/failure.ts';
import { queryRun } from '../run-queries/access.ts';
import { workerFacts } from '../agents/worker-facts.ts';
import type { ActivityRuntime } from '../runtime.ts';
import { programSnapshot } from './program-snapshot.ts';

/** Creates the first activity of a program's run: checks the program and its input, and pins what the run needs of the worker. */
export function resolveProgramActivity(runtime: ActivityRuntime): (input: ResolveProgramInput) => Promise<AgentSnapshot> {
  const { aborts, heartbeatMs, notifyEnded } = runtime;
  const details = notifyEnded === undefined ? undefined : { notifyEnded: true };
  return failingAs('invalid_program', (input) => runAttempt(aborts, { heartbeatMs }, () => resolveProgram(runtime, input)), details);
}

async function resolveProgram(runtime: ActivityRuntime, input: ResolveProgramInput): Promise<AgentSnapshot> {
  const { program: given } = await queryRun<StepValuesAnswer>(input, QUERIES.stepValues, { program: true });
  const document = input.program === undefined ? given?.document : runtime.programs.document(input.program);
  if (document === undefined) throw new LonghaulError('invalid_program', 'The run has neither the name of a program nor a document');
  requireChecked(runtime, document);
  const problems = document.input === undefined ? [] : checkJson(document.input, given?.input ?? {});
  if (problems.length > 0) {
    throw new LonghaulError('invalid_input', `The input of program "${document.name}" does not fit: ${problemsText(problems)}`);
  }
  const known = await runtime.searchAttributes();
  const snapshot = programSnapshot(document, {
    tool: (name) => runtime.programs.tool(name),
    definitions: { agents: runtime.registry.agents, programs: runtime.programs.documents },
    limits: input.limits,
    left: input.left,
    childCheckMs: runtime.childCheckMs ?? DEFAULT_CHILD_CHECK_MS,
    ...workerFacts(runtime),
    searchAttributes: known.agentAndStatus,
    waitingForAttribute: known.waitingFor,
    tags: input.tags,
    live: input.live,
    tagAttribute: known.tag ?? false,
  });
  checkSnapshotSize(snapshot);
  runtime.snapshots.add(snapshot);
  if (input.program !== undefined) return snapshot;
  const { program: _, ...withoutDocument } = snapshot;
  return withoutDocument;
}

/** Throws `invalid_program` with all problems of a document. */
function requireChecked({ programs, anchors, memory, registry }: ActivityRuntime, document: ProgramDocument): void {
  const { problems } = checkProgram(document, {
    tools: programs.tools,
    agents: registry.agents,
    programs: programs.documents,
    anchors: anchors.names.map((name) => ({ name })),
    providers: registry.providerNames,
    hasMemory: memory !== undefined,
  });
  if (problems.length > 0) throw invalidProgram(document.name, problems);
}
