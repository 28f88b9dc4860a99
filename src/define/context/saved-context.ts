import { UsageError } from '../../core/domain/errors.ts';
import { readSavedContext } from '../../core/saved/read-saved-context.ts';
import { type ContextToSave, SAVED_VERSION, type SavedContext, toSavedContext } from '../../core/saved/saved-context.ts';
import { requireKnown } from '../options/option-checks.ts';

const FIELDS: Record<keyof ContextToSave, true> = {
  messages: true,
  tool_calls: true,
  system_prompt: true,
  deps: true,
  usage: true,
  needs_response: true,
  iteration: true,
  max_iterations: true,
  started_at: true,
  agent_name: true,
  agent_description: true,
};

/**
 * Makes a saved context, such as from a conversation of another system: a run starts from it with `client.start(agent, { saved })`. A
 * field that is left out has the value of a context that was just created. Deps are screened: functions, live objects, references to
 * secrets and members whose keys suggest a credential are left out, at any depth. Throws a `UsageError` with the path of a field that
 * no context may have.
 *
 * @example
 * const saved = savedContext({
 *   messages: [{ role: 'user', content: 'Where is order 42?' }, { role: 'assistant', content: 'On its way.' }],
 *   deps: { customer: 7 },
 * });
 */
export function savedContext(fields: ContextToSave = {}): SavedContext {
  requireKnown('savedContext', fields, Object.keys(FIELDS));
  const { deps, ...plain } = fields;
  if (deps !== undefined && (typeof deps !== 'object' || deps === null || Array.isArray(deps)))
    throw new UsageError(`savedContext: "deps" is ${JSON.stringify(deps)}: write an object`);
  const read = readSavedContext({ version: SAVED_VERSION, ...plain });
  const problem = read.ok ? read.warnings[0] : read.problem;
  if (problem !== undefined) throw new UsageError(`savedContext: ${problem}`);
  return toSavedContext(fields);
}
