import type { Message } from '../content.ts';

/**
 * One step of a conversation with a model that answers in text alone: its instructions, its task, an answer with what became of
 * it, or an answer that only notes something.
 */
export type ConversationStep = SystemStep | TaskStep | ActionStep | ScratchpadStep;

/** Instructions to the model. */
export interface SystemStep {
  readonly type: 'system';
  readonly text: string;
}

/** A task or a question of the user, and every later message of theirs. */
export interface TaskStep {
  readonly type: 'task';
  readonly content: Message['content'];
}

/** An answer of the model, and what it did. */
export interface ActionStep {
  readonly type: 'action';
  /** The text of the answer. Empty: there was none. */
  readonly reply: string;
  /** The text that the action gave. */
  readonly observation?: string;
  /** The text that tells the model why the action failed. The observation is then not shown. */
  readonly error?: string;
}

/** An answer of the model that only notes something. */
export interface ScratchpadStep {
  readonly type: 'scratchpad';
  /** The text of the answer. Empty: there was none. */
  readonly reply: string;
  readonly note: string;
}
