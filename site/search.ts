import { readFileSync, writeFileSync } from 'node:fs';

/**
 * Words that say nothing next to others. Pagefind looks for every word that begins with one of the question: "a" stands for hundreds of
 * words then, and "to" for tools, tokens and topics. That takes most of the time of a search, and finds pages that nobody asked for.
 */
const SMALL_WORDS =
  'an and are as at be by can do does for from has have how if in into is it its me my of on or so that the their then there this to was we what when where which who why will with you your';

/** A place of Pagefind's code, and what is there instead. */
interface Change {
  from: string;
  to: string;
}

const CHANGES: readonly Change[] = [
  // A question of small words alone keeps them, and so does one in quotation marks, which asks for these words in this order. A letter alone
  // is mostly a word that is being typed.
  {
    from: 'const termPairs=term.split(" ").map((original)=>[original,normalizeDiacritics(original)]).filter(([,normalized])=>normalized.length);',
    to: `const small_words=new Set("${SMALL_WORDS}".split(" "));const all_pairs=term.split(" ").map((original)=>[original,normalizeDiacritics(original)]).filter(([,normalized])=>normalized.length);const large_pairs=exact_search?[]:all_pairs.filter(([,word])=>!small_words.has(word)&&!/^[a-z]$/.test(word));const termPairs=large_pairs.length>0?large_pairs:all_pairs;`,
  },
  // For each section of a page that has a result, the whole text of the page is divided into words. Here, the words of the last text are
  // kept: they are divided once for all sections, and marks are made in a copy.
  {
    from: 'var build_excerpt=',
    to: 'let words_text,words_last;const words_of=(text)=>{if(text!==words_text){words_last=text.split(word_separators);words_text=text;}return words_last.slice();};var build_excerpt=',
  },
  { from: 'fragment_words=content.split(word_separators)', to: 'fragment_words=words_of(content)' },
];

/** Lets the search of a built site leave out small words, and divide the text of a page once. */
export function quickenSearch(folder: string): void {
  for (const name of ['pagefind.js', 'pagefind-worker.js']) {
    const path = `${folder}/pagefind/${name}`;
    let text = readFileSync(path, 'utf8');
    for (const { from, to } of CHANGES) {
      if (text.split(from).length !== 2)
        throw new Error(`"pagefind/${name}" has not one "${from}" any more: see whether its searches are still slow`);
      text = text.replace(from, () => to);
    }
    writeFileSync(path, text);
  }
}
