import { isToolCall } from '../../../core/domain/content/content.ts';
import { outputText } from '../../../core/domain/content/output-text.ts';
import { printable, printableLine } from '../../../core/domain/content/printable.ts';
import { oneLine } from '../../../core/domain/content/text.ts';
import { resultText } from '../../../core/domain/content/tool-text.ts';
import type { Event } from '../../../core/domain/record/event.ts';
import type { Output } from '../../output.ts';
import { visibleJson } from '../../render/visible-json.ts';
import { eventHeadline } from '../../timeline/event-headline.ts';

/** The bytes of arguments or of a result that a line shows. */
const SHOWN_BYTES = 200;

/** Returns an event of a session as lines of the conversation: the text of the model, its calls with their results, and what was decided. */
export function chatEventLines(event: Event, output: Pick<Output, 'look'>): string[] {
  const { content, given, compaction, turn, author } = event;
  if (given) return [];
  if (compaction !== undefined) return [output.look('dim', '  (the earlier conversation was shortened)')];
  const headline = eventHeadline(event);
  return [
    ...content.flatMap((item): string[] => {
      if (isToolCall(item)) return [`  → ${output.look('cyan', printableLine(item.name))} ${shown(visibleJson(item.arguments))}`];
      if (item.type === 'tool_result') {
        const result = shown(resultText(item.content));
        return [item.status === 'error' ? `  ← ${output.look('red', `error: ${result}`)}` : `  ← ${result}`];
      }
      const text = printable(outputText(item.content));
      if (text.trim() === '') return [];
      if (item.role === 'user') return [output.look('bold', `${printableLine(author)}: ${text}`)];
      return text.split('\n');
    }),
    ...(headline === undefined || turn?.status === 'completed' ? [] : [`  ${output.look(headline.look, printableLine(headline.text))}`]),
  ];
}

function shown(text: string): string {
  return oneLine(printableLine(text), SHOWN_BYTES);
}
