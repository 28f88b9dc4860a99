import { checkRunCode } from '../../../core/code/run-code-call.ts';
import { cellCode } from '../../../core/domain/code/cell-code.ts';
import type { CodeLanguage } from '../../../core/domain/code/code-snapshot.ts';
import type { ToolCall } from '../../../core/domain/content/content.ts';
import { RUN_CODE } from '../../../core/domain/content/tool-text.ts';
import type { ModelResponse } from '../../../core/domain/model/model.ts';
import type { RecordedResponse } from '../../../core/domain/model/recorded-response.ts';
import { interpretResponse, type InterpretOptions } from '../../interpret-response.ts';
import { textResponse } from '../text-response.ts';
import { withProblem } from '../with-problem.ts';

/**
 * Returns an answer with code in the form that is recorded: its text, and a call of `run_code` without arguments, because the code
 * is in the text already. In the final attempt nothing runs: the text is the answer.
 */
export function readCodeReply(response: ModelResponse, options: InterpretOptions, final: boolean): RecordedResponse {
  const read = textResponse(response);
  // A model that calls `run_code` in the provider's own way is understood, too; a refusal is no attempt at the format.
  if (read === undefined) return interpretResponse(response, options);
  const message = { ...read.rest, content: read.text, toolCalls: [] };
  if (final) return interpretResponse(message, options);
  const { output: _, ...snapshot } = options.snapshot;
  const recorded = interpretResponse(message, { ...options, snapshot });
  const call: ToolCall = { type: 'tool_call', toolCallId: options.uuid(), name: RUN_CODE, arguments: {} };
  const withCall = { ...recorded, content: [...recorded.content.filter((item) => item.type !== 'message' || item.content !== ''), call] };
  const problem = problemOf(cellCode(withCall.content, call), snapshot.code?.executor.language ?? 'javascript');
  return problem === undefined ? withCall : withProblem(withCall, problem);
}

/** Returns the reason why the code of an answer must not run; undefined if it may. */
function problemOf(code: string | undefined, language: CodeLanguage): string | undefined {
  return code === undefined ? blockOnly(language) : checkRunCode({ code }).problem;
}

/** Returns the text by which the model learns that its answer has no block of code. */
function blockOnly(language: CodeLanguage): string {
  return `Please respond with a ${language} block only.`;
}
