import { cutText } from '../content/cut-content.ts';

/** The subject of a notice. */
export type NoticeCode =
  /** A tool was left out or made usable, because its server describes it wrongly. */
  | 'tool_adapted'
  /** The provider refused a request, and answered it in another form. */
  | 'request_adapted'
  /** The conversation was changed, because the provider refuses it as it was. */
  | 'conversation_repaired';

/** A fact that a person should know, although the run continues: what was left out or changed, and why. */
export interface Notice {
  code: NoticeCode;
  message: string;
}

/** The most notices of one event: the last one counts the others. */
const MOST_NOTICES = 20;

/** The most bytes of JSON of a message, which may quote a server. */
const MESSAGE_BYTES = 400;

/** Returns notices that fit into one event. */
export function boundNotices(notices: readonly Notice[]): Notice[] {
  const brief = notices.map(({ code, message }) => ({ code, message: cutText(message, MESSAGE_BYTES) }));
  if (brief.length <= MOST_NOTICES) return brief;
  const kept = brief.slice(0, MOST_NOTICES - 1);
  const left = brief.length - kept.length;
  return [...kept, { code: brief[kept.length]?.code ?? 'request_adapted', message: `and ${left} more` }];
}
