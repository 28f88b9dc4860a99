import type { ContentItem, ContentPart } from '../content/content.ts';
import { outputText } from '../content/output-text.ts';

/** The conversation that a run begins with: what the user says, the conversation before it, or both. */
export type RunOpening =
  | {
      /** Text, or parts if it has media. May be left out if the last of the messages needs a response of the model. */
      input?: string | ContentPart[];
      /** The conversation so far. Nothing in it is executed, and it counts as no step and no usage. */
      messages: readonly ContentItem[];
    }
  | {
      /** Text, or parts if it has media. */
      input: string | ContentPart[];
      /** The conversation before `input`. Nothing in it is executed, and it counts as no step and no usage. */
      messages?: readonly ContentItem[];
    };

/** Returns the fields of the opening alone. */
export function openingOf({ input, messages }: RunOpening): RunOpening {
  const given = messages === undefined ? {} : { messages };
  return input === undefined ? { messages: messages ?? [] } : { ...given, input };
}

/** Returns the opening as text: the input, or else the last message of the conversation. */
export function openingText({ input, messages = [] }: RunOpening): string {
  if (input !== undefined) return outputText(input);
  const last = messages.findLast((item) => item.type === 'message');
  return last === undefined ? '' : outputText(last.content);
}
