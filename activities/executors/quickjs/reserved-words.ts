/** Words that cannot be the name of a variable, in code that is strict or not, and those that cannot be one of the global object. */
export const RESERVED_WORDS: ReadonlySet<string> = new Set(
  (
    'arguments await break case catch class const continue debugger default delete do else enum eval export extends false finally for ' +
    'function if implements import in Infinity instanceof interface let NaN new null package private protected public return static ' +
    'super switch this throw true try typeof undefined var void while with yield'
  ).split(' '),
);
