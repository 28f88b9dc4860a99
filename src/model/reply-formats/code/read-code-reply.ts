import { checkRunCode } from '../../../core/code/run-code-call.ts';
import { cellCode } from '../../../core/domain/code/cell-code.ts';
import type { CodeLanguage } from '../../../core/domain/code/code-snapshot.ts';
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
  const { text, rest } = read;
  if (final) return interpretResponse({ ...rest, content: text, toolCalls: [] }, options);
  const { output: _, code, ...snapshot } = options.snapshot;
  const call = { id: options.replyId, name: RUN_CODE, arguments: {} };
  // Without `code` in the snapshot, the arguments are not checked: they have no code.
  const recorded = interpretResponse({ ...rest, content: text, toolCalls: [call] }, { ...options, snapshot });
  const problem = problemOf(cellCode(recorded.content, call), code?.executor.language ?? 'javascript');
  return problem === undefined ? recorded : withProblem(recorded, problem);
}

/** Returns the reason why the code of an answer must not run; undefined if it may. */
function problemOf(code: string | undefined, language: CodeLanguage): string | undefined {
  return code === undefined ? blockOnly(language) : checkRunCode({ code }).problem;
}

/** Returns the text by which the model learns that its answer has no block of code. */
function blockOnly(language: CodeLanguage): string {
  return `Please respond with a ${language} block only.`;
}
