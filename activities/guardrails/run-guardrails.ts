import { setTimeout as delay } from 'node:timers/promises';
import type { AgentSnapshot } from '../../src/core/domain/agent/agent-snapshot.ts';
import { cutText } from '../../src/core/domain/content/cut-content.ts';
import { errorMessage } from '../../src/core/domain/errors/error.ts';
import type { GuardrailFinding } from '../../src/core/domain/guardrails/guardrail.ts';
import type { GuardrailAnswer, GuardrailContext, GuardrailContexts } from '../../src/define/guardrails/guardrail-definition.ts';
import type { Resources } from '../../src/define/context/run-context.ts';
import type { DataView, OfRun } from '../../src/core/protocol.ts';
import { runIdOf } from '../run-queries/access.ts';
import { eventsOf } from '../run-queries/events.ts';
import type { ActivityRuntime } from '../runtime.ts';
import type { GuardrailModels } from './guardrail-model.ts';
import type { PinnedGuardrail } from './pinned-guardrails.ts';

/** Bytes of JSON of the message of a finding: it is part of the record, of the result, and of what the model reads. */
const MESSAGE_BYTES = 500;

/** The run that checks belong to. */
export interface GuardrailScope {
  runtime: ActivityRuntime;
  run: OfRun;
  snapshot: AgentSnapshot;
  signal: AbortSignal;
  models: GuardrailModels;
  data: DataView;
  resources: Resources;
}

/** The subject of a check: the fields of its context that differ by type. */
export type Subject = {
  [Type in keyof GuardrailContexts]: Omit<GuardrailContexts[Type], Exclude<keyof GuardrailContext, 'text'>>;
}[keyof GuardrailContexts];

/** Checks a subject with all guardrails at the same time, and returns their findings in the order of the guardrails. Never throws. */
export async function runGuardrails(
  scope: GuardrailScope,
  guardrails: readonly PinnedGuardrail[],
  subject: Subject,
): Promise<GuardrailFinding[]> {
  const findings = await Promise.all(guardrails.map((guardrail) => runGuardrail(scope, guardrail, subject)));
  return findings.filter((finding) => finding !== undefined);
}

/** Returns the finding of a check; undefined if it passes. */
async function runGuardrail(
  scope: GuardrailScope,
  { pinned, guardrail }: PinnedGuardrail,
  subject: Subject,
): Promise<GuardrailFinding | undefined> {
  const { name, type, timeoutMs, failOpen } = pinned;
  const finding = (outcome: GuardrailFinding['outcome'], message: string): GuardrailFinding => ({
    name,
    type,
    outcome,
    message: brief(scope.runtime, message),
    ...(subject.type === 'tool_call' ? { callId: subject.call.id } : {}),
  });
  const timeUp = new AbortController();
  const signal = AbortSignal.any([scope.signal, timeUp.signal]);
  try {
    const checking = Promise.resolve(guardrail.check(contextOf(scope, guardrail, subject, signal) as never));
    const late = delay(timeoutMs, undefined, { signal }).then(() => {
      throw new Error(`no answer within ${timeoutMs} ms`);
    });
    const answer = read(await Promise.race([checking, late]));
    return answer.passed ? undefined : finding(answer.trips === false ? 'warned' : 'tripped', answer.message);
  } catch (error) {
    return finding(failOpen ? 'failed_open' : 'failed', `Guardrail "${name}" failed: ${errorMessage(error)}`);
  } finally {
    timeUp.abort();
  }
}

function contextOf(
  { run, snapshot, models, data, resources }: GuardrailScope,
  guardrail: PinnedGuardrail['guardrail'],
  subject: Subject,
  signal: AbortSignal,
): GuardrailContext & Subject {
  return {
    ...structuredClone(subject),
    deps: Object.freeze(structuredClone(data.deps)),
    principal: Object.freeze(structuredClone(data.principal ?? {})),
    state: Object.freeze(structuredClone(data.state)),
    resources,
    events: eventsOf(run),
    agent: snapshot.name,
    runId: runIdOf(run),
    signal,
    ask: ((model, prompt, schema) => models.ask(guardrail, signal, { model, prompt, schema })) as GuardrailContext['ask'],
  };
}

/** Reads the answer of a check. Throws for anything but `{passed: true}` and `{passed: false, message}`. */
function read(answer: unknown): GuardrailAnswer {
  const { passed, message, trips } = typeof answer === 'object' && answer !== null ? (answer as Partial<Record<string, unknown>>) : {};
  if (passed === true) return { passed };
  if (passed === false && typeof message === 'string' && message.trim() !== '') return { passed, message, trips: trips !== false };
  throw new Error('its answer is neither {passed: true} nor {passed: false, message}');
}

/** Secrets are redacted before the text is cut: a part of one would not be found. */
function brief({ secrets }: ActivityRuntime, message: string): string {
  return cutText(secrets.redact(message).toWellFormed(), MESSAGE_BYTES);
}
