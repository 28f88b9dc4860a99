import type { Message, Role } from '../content.ts';
import type { ConversationStep } from './conversation-step.ts';

/** Returns steps as the messages that a model receives. */
export function stepMessages(steps: readonly ConversationStep[]): Message[] {
  return steps.flatMap(messagesOf);
}

function messagesOf(step: ConversationStep): Message[] {
  switch (step.type) {
    case 'system':
      return [message('system', step.text)];
    case 'task':
      return [message('user', step.content)];
    case 'action':
      return [...replied(step.reply), ...answered(actionText(step))];
    case 'scratchpad':
      return [...replied(step.reply), message('user', notedText(step.note))];
  }
}

/** Returns the text by which the model learns what became of its action. Empty: it learns nothing. */
export function actionText({ observation = '', error = '' }: { observation?: string; error?: string }): string {
  if (error !== '') return error;
  return observation === '' ? '' : `Observation: ${observation}`;
}

/** Returns the text that confirms a note to the model. */
export function notedText(note: string): string {
  return `Scratchpad noted: ${note}`;
}

function replied(reply: string): Message[] {
  return reply === '' ? [] : [message('assistant', reply)];
}

function answered(text: string): Message[] {
  return text === '' ? [] : [message('user', text)];
}

function message(role: Role, content: Message['content']): Message {
  return { type: 'message', role, content };
}
