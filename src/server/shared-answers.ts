import type { LonghaulClient } from '../client/longhaul-client.ts';
import type { Reply } from './route.ts';

/** The answer that is being made, and the next one, for those who have asked since the first one was begun. */
interface Answers {
  current: Promise<Reply>;
  next?: Promise<Reply>;
}

const underWay = new WeakMap<LonghaulClient, Map<string, Answers>>();

/**
 * Returns the answer of a question of a client. Those who ask while an answer is being made get the next one, all together: it has everything
 * that was there when they asked, and a service answers twice, however many pages ask at once. What is asked must depend on the question and
 * on whom the client acts for alone.
 */
export async function sharedAnswer(client: LonghaulClient, question: string, answer: () => Promise<Reply>): Promise<Reply> {
  const ofClient = underWay.get(client) ?? new Map<string, Answers>();
  underWay.set(client, ofClient);
  const begin = (): Promise<Reply> => {
    const answers: Answers = { current: answer() };
    ofClient.set(question, answers);
    const end = (): void => void (answers.next === undefined && ofClient.delete(question));
    answers.current.then(end, end);
    return answers.current;
  };
  const known = ofClient.get(question);
  if (known === undefined) return begin();
  known.next ??= known.current.then(begin, begin);
  return known.next;
}
