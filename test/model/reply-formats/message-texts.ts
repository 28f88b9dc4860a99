import type { ModelRequest } from '../../../src/core/domain/model.ts';
import { outputText } from '../../../src/core/domain/content.ts';

/** The messages of a request, each as its role and its text. */
export function messageTexts({ conversation }: ModelRequest): string[] {
  return conversation.flatMap(({ content }) =>
    content.map((item) => (item.type === 'message' ? `${item.role}: ${outputText(item.content)}` : item.type)),
  );
}
