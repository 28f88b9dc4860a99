import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/core/domain/json.ts';
import { findSuite } from './adapters/index.ts';
import { readCaseFiles, type SpecCase } from './case-file.ts';
import { COMMON_KEYS } from './replay.ts';

/** The operations of the format: their suites, and the keys that their inputs and expectations may have. */
const OPERATIONS: readonly [operation: string, suites: string, input: string, expectation: string][] = [
  ['agent.construct', 'tinyagent.agents', 'kind, tools', 'error'],
  ['agent.load_state', 'react.run_result', 'agent_name, saved', 'max_iterations, memory_roles, name'],
  ['agent.reset', 'react.run_result', 'model', 'memory_roles'],
  [
    'agent.run',
    'execution_context',
    'confirmations, input, max_steps, output_type, replies',
    'current_step, events, execution_ids, model_calls, output, raises_or_error, state, status',
  ],
  ['agent.save_state', 'react.run_result', 'model', 'state'],
  ['anchor.check', 'axon.anchors', 'anchor, content', 'passed, violations'],
  ['anchor.list', 'axon.anchors', '', 'names'],
  ['anchor.meta', 'axon.anchors', 'anchor', 'confidence_floor, on_violation, reject, require, severity'],
  ['code_agent.extract', 'tinyagent.agents', 'text', ''],
  ['code_agent.run', 'tinyagent.agents', 'limits, max_steps, replies', 'error, feedback, output, source, state, steps_taken'],
  ['content.validate', 'execution_context', 'item', 'error, item, ok'],
  ['context.add_messages', 'nous.runtime', 'messages', 'contents, needs_response'],
  ['context.deserialize', 'nous.serialization', 'data', 'error, ok'],
  ['context.isolation', 'execution_context', 'do', 'second'],
  ['context.max_iterations_reached', 'nous.runtime', 'iteration, max_iterations', ''],
  ['context.merge_deps', 'nous.runtime', 'deps, patch', 'deps'],
  ['context.new', 'nous.runtime', 'opts', 'context'],
  ['context.new', 'execution_context', '', 'current_step, events, execution_id, final_result, state'],
  ['context.ops', 'execution_context', 'do', 'authors, current_step, state'],
  ['context.patch_dangling', 'nous.patch_dangling_tool_calls', 'messages', '$unordered_tail, messages, unchanged'],
  ['context.patch_twice', 'nous.patch_dangling_tool_calls', 'messages', 'messages'],
  ['context.round_trip', 'nous.serialization', 'context', 'deps_absent, ok'],
  ['context.serialize', 'nous.serialization', 'context', 'absent, data, deps_absent'],
  ['context_update.apply', 'nous.context_update', 'deps, operations', 'deps, error'],
  ['context_update.inspect', 'nous.context_update', 'operations', 'empty, length'],
  ['context_update.keys', 'nous.context_update', 'operations', 'keys, keys_updated'],
  ['ctxmgr.run', 'axon.support', 'do, system_prompt', 'results'],
  ['dispatch.run', 'axon.support', 'argument, registered, tool', 'data, error, metadata, success'],
  ['errors.context_dict', 'axon.support', '', ''],
  ['errors.format', 'axon.support', 'context, message, type', 'text'],
  ['errors.levels', 'axon.support', '', 'levels'],
  ['event.new', 'execution_context', 'author, content, execution_id', 'event'],
  ['exec.limits', 'tinyagent.executor', '', 'max_memory_mb, max_output_bytes, max_steps, timeout_seconds'],
  ['exec.protocol', 'tinyagent.executor', '', 'implements, methods'],
  [
    'exec.result_defaults',
    'tinyagent.executor',
    'output',
    'duration_ms, error, final_value, is_final, memory_used_bytes, namespace, output, success, timeout',
  ],
  ['exec.session', 'tinyagent.executor', 'allowed_imports, do, limits', 'results'],
  ['exec.truncate', 'tinyagent.executor', 'max_output_bytes, text', 'text, truncated'],
  [
    'executor.run',
    'axon.executor',
    'model, units',
    'attempts, events, failure_contexts, prompts, step_contents, success, system_prompts, unit_errors, unit_success',
  ],
  ['finalizer.run', 'tinyagent.agents', 'do', 'results'],
  ['hooks.run', 'nous.runtime', 'event, hooks, payload', 'ran, result'],
  ['interpolate', 'axon.executor', 'prompt, results', ''],
  ['llm.build_messages', 'execution_context', 'contents, instructions', 'messages'],
  ['memory.prune', 'tinyagent.agents', 'steps, strategy', 'kept'],
  ['memory.run', 'axon.support', 'do', 'results'],
  ['memory.to_messages', 'tinyagent.agents', 'steps', 'messages, step_numbers'],
  ['permissions.build', 'nous.runtime', 'mode', 'error'],
  ['permissions.check', 'nous.runtime', 'category, policy, tool', 'blocked, requires_approval'],
  ['react.parse_tool_call', 'react.run_result', 'shape', 'arguments, call_id, error, name'],
  [
    'react.run',
    'react.run_result',
    'max_iterations, model, tools',
    'calls, error, max_iterations, memory_roles, output, run_id, status, steps, steps_used, success, tool_calls_by_name, tool_calls_total, usage',
  ],
  ['react.stream', 'react.run_result', 'model, tools', 'events'],
  ['react_agent.run', 'tinyagent.agents', 'max_steps, replies', 'error, feedback, output, source, state, steps_taken, temperatures'],
  ['result.derived', 'react.run_result', 'agent_name, status', 'steps_used, success'],
  ['result.status_values', 'react.run_result', '', 'values'],
  [
    'result.summary',
    'react.run_result',
    'agent_name, duration_seconds, max_iterations, status, steps, tool_calls_by_name, tool_calls_total, total_tokens',
    '',
  ],
  [
    'result.to_dict_defaults',
    'react.run_result',
    'agent_name',
    'agent_name, duration_seconds, end_time, error, max_iterations, output, run_id, start_time, status, steps, steps_used, success, tool_calls_by_name, tool_calls_total, usage',
  ],
  ['retry.config', 'axon.retry_engine', 'backoff, max_attempts', 'config, error'],
  ['retry.delay', 'axon.retry_engine', 'attempt, strategy', ''],
  [
    'retry.execute',
    'axon.retry_engine',
    'behaviour, config, flow_name, step_name',
    'attempts, contexts, exhausted, fallback_target, raises, result, success',
  ],
  [
    'run.loop',
    'nous.runtime',
    'approval, cancel_before_iteration, cancel_reason, hooks, max_iterations, model, parallel, tools',
    'error, iterations, output, tool_messages, usage_tool_calls',
  ],
  ['runner.deps_after_turns', 'nous.context_update', 'deps, turns', 'deps, seen'],
  ['runner.legacy_update', 'nous.context_update', 'deps, tool_return', 'deps, model_sees'],
  ['scratchpad.context', 'tinyagent.agents', 'do', 'regex'],
  ['session.limits', 'nous.runtime', 'config, input_tokens, output_tokens, turns', 'result'],
  ['session.remaining', 'nous.runtime', 'config, input_tokens, output_tokens, turns', 'tokens, turns'],
  ['session.should_compact', 'nous.runtime', 'config, turns', ''],
  ['skill.match', 'nous.runtime', 'skills, text', 'matched'],
  ['skill.parse', 'nous.runtime', 'path, text', 'skill'],
  ['skill.registry', 'nous.runtime', 'do, skills', 'active'],
  ['skill.system_prompt', 'nous.runtime', 'active', 'text'],
  ['step.defaults', 'react.run_result', 'step', 'finish_reason, has_tool_calls, step, thought, tool_calls, usage'],
  ['stream.complete', 'nous.runtime', 'events', 'events'],
  ['tool.execute', 'nous.runtime', 'args, behaviour, tool', 'attempts, ctx_retry, error, ok'],
  ['tool.validate', 'nous.runtime', 'args, schema', 'error_text, fields, ok'],
  ['tracer.event_types', 'axon.support', '', 'types'],
  ['tracer.spans', 'axon.support', 'do', 'all_closed, total_events, tree'],
  ['usage.add', 'nous.runtime', 'usages', 'usage'],
  ['usage.aggregate', 'react.run_result', 'usages', 'completion_tokens, prompt_tokens, total_tokens'],
  [
    'validator.validate',
    'axon.semantic_validator',
    'confidence_floor, custom_types, expected_type, output, range_max, range_min, type_fields',
    'confidence, is_valid, messages_upstream, rules',
  ],
  [
    'validator.validate_and_raise',
    'axon.semantic_validator',
    'confidence_floor, expected_type, flow_name, output, range_max, step_name, type_fields',
    'error_type, level, message, ok, text',
  ],
  ['workflow.run', 'execution_context', 'agents, input, kind', 'authors, output'],
];

/** Forms inside inputs that no key shows: each has a separate case in its operation. */
const FORMS: readonly [operation: string, form: string][] = [
  ...['set_step_result', 'get_step_result', 'has_step_result', 'set_variable', 'get_variable', 'has_variable'].map(action),
  ...['append_message', 'completed_steps', 'message_count', 'history', 'system_prompt', 'reset', 'snapshot_steps'].map(action),
  ['stream.complete', '["error",{'],
  ['stream.complete', '["text_delta",'],
  ['stream.complete', '["thinking_delta",'],
  ['stream.complete', '["finish",'],
  ['memory.prune', '"strategy":{"full":'],
  ['memory.prune', '"max_length":'],
  ['memory.prune', '"keep_last":'],
  ['finalizer.run', '"is_set":true'],
  ['finalizer.run', '"reset":true'],
  ['memory.run', '"clear":'],
  ['skill.registry', '"deactivate_group":'],
  ['run.loop', '"modify":{"arguments":'],
  ['run.loop', '"modify":{"result":'],
  ['run.loop', '"deny":'],
  ['exec.session', '"inject":'],
  ['exec.session', '"kill":true'],
  ['exec.session', '"reset":true'],
  ...['exec.session', 'code_agent.run'].flatMap((operation): [string, string][] =>
    ['"timeout_seconds":', '"max_memory_mb":', '"max_output_bytes":', '"max_steps":'].map((limit) => [operation, limit]),
  ),
  ['context.serialize', '{"$function":true}'],
  ['context.serialize', '{"$handle":true}'],
  ['tool.execute', '"hang":true'],
  ['context_update.apply', '"repeat":'],
];

function action(name: string): [string, string] {
  return ['ctxmgr.run', `["${name}"`];
}

const ownFiles = readCaseFiles(fileURLToPath(new URL('cases', import.meta.url)));

const own = ownFiles.flatMap((file) => (file.type === 'broken' ? [] : file.cases.map((specCase) => ({ suite: file.suite, specCase }))));

function ownCases(operation: string, suite: string): SpecCase[] {
  return own.filter((one) => one.suite === suite && one.specCase.op === operation).map(({ specCase }) => specCase);
}

function keys(text: string): string[] {
  return text === '' ? [] : text.split(', ');
}

function keysOf(value: JsonValue): string[] {
  return isJsonObject(value) ? Object.keys(value satisfies JsonObject) : [];
}

describe.each(OPERATIONS)('%s of %s', (operation, suite, input, expectation) => {
  it('is known with every key of its input and its expectation', () => {
    const adapter = findSuite(suite)?.operations[operation];
    expect(adapter).toBeDefined();
    expect(adapter?.input).toEqual(expect.arrayContaining(keys(input)));
    // A text that is written as a regular expression is the whole expectation.
    const known = [...(adapter?.expect ?? []), ...COMMON_KEYS, 'regex'];
    expect(known).toEqual(expect.arrayContaining(keys(expectation)));
  });

  it('has own cases with every key', () => {
    const cases = ownCases(operation, suite);
    expect(cases).not.toEqual([]);
    expect(keys(input).filter((key) => !cases.some((one) => keysOf(one.input).includes(key)))).toEqual([]);
    expect(keys(expectation).filter((key) => !cases.some((one) => keysOf(one.expect).includes(key)))).toEqual([]);
  });
});

it.each(FORMS)('an own case of %s has the form %s', (operation, form) => {
  const cases = own.filter(({ specCase }) => specCase.op === operation);
  expect(cases.some(({ specCase }) => JSON.stringify(specCase.input).includes(form))).toBe(true);
});

it('no file of own cases has an id twice', () => {
  for (const file of ownFiles) {
    const ids = file.type === 'cases' ? file.cases.map(({ id }) => id) : [];
    expect({ path: file.path, twice: ids.filter((id, index) => ids.indexOf(id) !== index) }).toEqual({ path: file.path, twice: [] });
  }
});

it('a case may have notes, and texts in the formatting of another language', () => {
  const [file] = readCaseFiles(fileURLToPath(new URL('noted-cases', import.meta.url)));
  expect(file?.type === 'cases' ? file.cases.map(({ unknownKeys }) => unknownKeys) : file).toEqual([[]]);
});
