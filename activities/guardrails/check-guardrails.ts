import type { ContentItem } from '../../src/core/domain/content.ts';
import type { CheckGuardrailsInput, CheckGuardrailsOutput } from '../../src/core/domain/activity-messages.ts';
import { defined } from '../../src/core/domain/defined.ts';
import type { JsonValue } from '../../src/core/domain/json.ts';
import { type DataView, QUERIES } from '../../src/core/protocol.ts';
import { runAttempt } from '../attempts/attempt.ts';
import { failingAs } from '../attempts/failure.ts';
import { queryRun, runKey } from '../run-queries/query-run.ts';
import { fetchTranscript } from '../run-queries/transcript.ts';
import type { ActivityRuntime } from '../runtime.ts';
import { GuardrailModels, pinnedGuardrails, runGuardrails, type Subject } from './run-guardrails.ts';

/** Creates the activity that checks new messages, or an answer, with all guardrails of that type at once. It fails only if this worker lacks one. */
export function checkGuardrailsActivity(runtime: ActivityRuntime): (input: CheckGuardrailsInput) => Promise<CheckGuardrailsOutput> {
  return failingAs('internal', async (input) => {
    const snapshot = await runtime.snapshots.load(input, input.agent);
    const guardrails = pinnedGuardrails(runtime, snapshot, input.type);
    return runAttempt(runtime.aborts, { heartbeatMs: runtime.heartbeatMs }, async (current): Promise<CheckGuardrailsOutput> => {
      const models = new GuardrailModels(runtime, snapshot);
      const data = await queryRun<DataView>(input, QUERIES.data, null);
      const scope = { runtime, run: input, snapshot, signal: current.signal, models, data, resources: await runtime.resourcePool.use() };
      const findings = await runGuardrails(scope, guardrails, await subjectOf(runtime, input, data));
      const { spent } = models;
      // What the checks have paid counts, also if the run was cancelled meanwhile: their findings do not.
      const report = { findings: current.isCancelled() ? [] : findings, ...defined({ spent }) };
      if (!current.isCancelled()) current.throwIfAborted();
      return current.isCancelled() ? { ...report, aborted: true } : report;
    });
  });
}

async function subjectOf(runtime: ActivityRuntime, input: CheckGuardrailsInput, { answer = '' }: DataView): Promise<Subject> {
  if (input.type === 'output') return { type: 'output', output: answer, text: textOfAnswer(answer) };
  const { events } = await runtime.transcripts.load(runKey(input), input, fetchTranscript(input));
  const messages = events.filter(({ offset }) => offset >= (input.from ?? 0)).flatMap(({ content }) => content.filter(isUserMessage));
  return { type: 'input', messages, text: messages.map(textOfMessage).join('\n') };
}

type Message = Extract<ContentItem, { type: 'message' }>;

function isUserMessage(item: ContentItem): item is Message {
  return item.type === 'message' && item.role === 'user';
}

function textOfMessage({ content }: Message): string {
  return typeof content === 'string' ? content : content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}

/** Returns the text of an answer: the texts of its parts, or JSON for a structured one. */
function textOfAnswer(answer: JsonValue): string {
  if (typeof answer === 'string') return answer;
  const texts = Array.isArray(answer) ? answer.flatMap((part) => textOfPart(part) ?? []) : [];
  return texts.length > 0 ? texts.join('\n') : JSON.stringify(answer);
}

function textOfPart(part: JsonValue): string | undefined {
  if (typeof part !== 'object' || part === null || Array.isArray(part)) return undefined;
  return part['type'] === 'text' && typeof part['text'] === 'string' ? part['text'] : undefined;
}
