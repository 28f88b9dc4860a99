import type { ModelResponse } from '../../core/domain/model/model.ts';
import type { RecordedResponse } from '../../core/domain/model/recorded-response.ts';
import { interpretResponse, type InterpretOptions } from '../interpret-response.ts';
import { readCodeReply } from './code/read-code-reply.ts';
import { readJsonReply } from './json/read-json-reply.ts';

/** Returns a model's response in the form that is recorded: the loop sees tool calls and answers, in any format. */
export function interpretReply(response: ModelResponse, options: InterpretOptions, final: boolean): RecordedResponse {
  switch (options.snapshot.replyFormat) {
    case 'json':
      return readJsonReply(response, options);
    case 'code':
      return readCodeReply(response, options, final);
    default:
      return interpretResponse(response, options);
  }
}
