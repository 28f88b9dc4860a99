import type { SourceFile } from './source-file.ts';
import type { SourceTree } from './source-tree.ts';

/** First words with which a doc comment asks for its meaning instead of saying it. */
const QUESTION = /^(What|Whatever|Who|Whoever|Whose|Whether|Which|When|Where|How|Of|That|Those)\b/i;

/** Words that leave out who acts: a comment names the worker, the approver, the caller, the model or the server. */
const UNNAMED_ACTOR = /\b(nobody|somebody|anybody|whoever|whatever|someone)\b/gi;

/**
 * Lists the comments of a tree in which a reader has to guess, as a sentence each: doc comments that begin like a question,
 * and words that name no actor.
 */
export function unclearComments(tree: SourceTree): string[] {
  return [...tree.values()].flatMap(problemsIn);
}

function problemsIn({ path, comments }: SourceFile): string[] {
  return comments.flatMap(({ doc, text }) => {
    const question = doc ? QUESTION.exec(text)?.[0] : undefined;
    return [
      ...(question === undefined ? [] : [`${path} has a doc comment that begins with "${question}": ${startOf(text)}`]),
      ...[...text.matchAll(UNNAMED_ACTOR)].map(([word]) => `${path} says "${word}" in a comment: name the actor: ${startOf(text)}`),
    ];
  });
}

function startOf(text: string): string {
  return text.replaceAll(/\s+/g, ' ').slice(0, 60);
}
