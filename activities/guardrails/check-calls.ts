import type { ToolCall } from '../../src/core/domain/content/content.ts';
import type { GuardrailReport } from '../../src/core/domain/guardrails/guardrail.ts';
import { canonicalJson } from '../../src/core/domain/json/json.ts';
import { type DataView, QUERIES } from '../../src/core/protocol.ts';
import type { PredicateScope } from '../model-calls/approval-requirements.ts';
import { queryRun } from '../run-queries/access.ts';
import { GuardrailModels } from './guardrail-model.ts';
import { pinnedGuardrails } from './pinned-guardrails.ts';
import { runGuardrails } from './run-guardrails.ts';

/**
 * Checks calls with the guardrails of the run for calls, all at once. Undefined if all pass without a cost. Throws `unknown_guardrail` if
 * this worker lacks one.
 */
export async function checkCalls(
  { runtime, run, snapshot, signal, data = () => queryRun<DataView>(run, QUERIES.data, null) }: PredicateScope,
  calls: readonly ToolCall[],
): Promise<GuardrailReport | undefined> {
  const guardrails = pinnedGuardrails(runtime, snapshot, 'tool_call');
  if (guardrails.length === 0 || calls.length === 0) return undefined;
  const models = new GuardrailModels(runtime, snapshot);
  const scope = { runtime, run, snapshot, signal, models, data: await data(), resources: await runtime.resourcePool.use() };
  const findings = await Promise.all(
    calls.map(({ toolCallId: id, name, arguments: args }) =>
      runGuardrails(scope, guardrails, { type: 'tool_call', call: { id, name, arguments: args }, text: canonicalJson(args) }),
    ),
  );
  const { spent } = models;
  if (findings.flat().length === 0 && spent === undefined) return undefined;
  return { findings: findings.flat(), ...(spent === undefined ? {} : { spent }) };
}
