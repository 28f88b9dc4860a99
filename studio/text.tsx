import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { beginning, codeName, mixedScripts, pieces } from './marks.ts';
import { TEXTS } from './texts.ts';

// What models, tools and users have written is text and nothing else: no markup, no link, no image. What would be invisible, or would put
// other characters in another place, is shown as a mark.

function Marked({ text, oneLine = false }: { text: string; oneLine?: boolean }): JSX.Element {
  return (
    <>
      {pieces(text, { oneLine }).map((piece, index) =>
        typeof piece === 'string' ? (
          piece
        ) : (
          <span key={index} class="mark" title={TEXTS.hiddenCharacter(codeName(piece.code))}>
            ⟨{codeName(piece.code)}⟩
          </span>
        ),
      )}
    </>
  );
}

const ADDRESS = /\b[a-z][a-z0-9+.-]*:\/\/[^\s"'<>]+/giu;

/** Shows text with marks, and a warning behind each address that mixes scripts. */
function WithAddresses({ text }: { text: string }): JSX.Element {
  const parts: JSX.Element[] = [];
  let end = 0;
  for (const match of text.matchAll(ADDRESS)) {
    const scripts = mixedScripts(match[0]);
    if (scripts.length === 0) continue;
    const next = match.index + match[0].length;
    parts.push(<Marked key={end} text={text.slice(end, next)} />, <MixedNote key={`${end}!`} scripts={scripts} />);
    end = next;
  }
  return (
    <>
      {parts}
      <Marked text={text.slice(end)} />
    </>
  );
}

function MixedNote({ scripts }: { scripts: string[] }): JSX.Element {
  return <span class="mark">{TEXTS.mixedScripts(scripts.join(', '))}</span>;
}

/** A name on one line: of a tool, an agent, a user, a run. */
export function Name({ of: text, limit = 120 }: { of: string | null | undefined; limit?: number }): JSX.Element {
  const shown = beginning(text ?? '', limit);
  const scripts = mixedScripts(shown);
  const left = (text ?? '').length - shown.length;
  return (
    <bdi class="name">
      <Marked text={shown} oneLine />
      {left > 0 && <span class="dim"> {TEXTS.moreCharacters(left)}</span>}
      {scripts.length > 0 && <MixedNote scripts={scripts} />}
    </bdi>
  );
}

/** The beginning of a text, on one line. */
export function Line({ of: text, limit = 200 }: { of: string; limit?: number }): JSX.Element {
  const first = text.trimStart();
  const shown = beginning(first, limit);
  return (
    <bdi class="line">
      <Marked text={shown.replaceAll(/\s*\n\s*/g, ' ')} oneLine />
      {first.length > shown.length && <span class="dim"> {TEXTS.moreCharacters(first.length - shown.length)}</span>}
    </bdi>
  );
}

/** The characters of a page of a long text. */
const PAGE = 20_000;

/** A whole text, with its line breaks. A long one is cut with a count, and opens in pages. `onWhole` is called once all of it is shown. */
export function Text({ of: text, limit = 3_000, onWhole }: { of: string; limit?: number; onWhole?: () => void }): JSX.Element {
  const [length, setLength] = useState(limit);
  const shown = beginning(text, length);
  const left = text.length - shown.length;
  const more = (): void => {
    setLength(length + PAGE);
    if (length + PAGE >= text.length) onWhole?.();
  };
  return (
    <div class="text">
      <bdi>
        <WithAddresses text={shown} />
      </bdi>
      {left > 0 && (
        <button type="button" class="more" onClick={more}>
          {TEXTS.showMore(Math.min(PAGE, left), text.length)}
        </button>
      )}
    </div>
  );
}

/** A JSON value, indented, as text. */
export function Json({ of: value, limit }: { of: unknown; limit?: number }): JSX.Element {
  return (
    <div class="json">
      <Text of={jsonText(value)} limit={limit} />
    </div>
  );
}

/** Levels that are indented: a value of hundreds of levels would otherwise be wider than any screen. */
const INDENTED = 24;

/** Returns a JSON value over several lines. */
export function jsonText(value: unknown): string {
  const text = JSON.stringify(value, undefined, 1) ?? '';
  return text.replaceAll(/^ +/gm, (spaces) => '  '.repeat(Math.min(spaces.length, INDENTED)));
}

/** Characters of the name of a member that are shown next to it. One with a longer name is shown with it. */
const NAME_ROOM = 120;

/** Returns the text of a member of an object, as it is shown: one of several lines as it is, anything else as JSON. */
function memberText(key: string, value: unknown): string {
  if (key.length > NAME_ROOM) return jsonText({ [key]: value });
  return typeof value === 'string' && value.includes('\n') ? value : jsonText(value);
}

/** Returns the number of members of an object of which only a beginning is shown at first. */
export function cutMembers(value: object, limit: number): number {
  return Object.entries(value).filter(([key, one]) => memberText(key, one).length > limit).length;
}

interface FieldsOptions {
  of: object;
  limit?: number;
  /** Is told of each member that was cut, once all of it is shown. */
  onWhole?: (key: string) => void;
}

/** The members of an object: each on its own, and texts of several lines as they are. */
export function Fields({ of: value, limit, onWhole }: FieldsOptions): JSX.Element {
  const entries = Object.entries(value);
  if (entries.length === 0) return <p class="dim">{TEXTS.noArguments}</p>;
  return (
    <dl class="fields">
      {entries.map(([key, one]) => (
        <div key={key}>
          <dt>
            <Name of={key} limit={NAME_ROOM} />
          </dt>
          <dd class="json">
            <Text of={memberText(key, one)} limit={limit} onWhole={() => onWhole?.(key)} />
          </dd>
        </div>
      ))}
    </dl>
  );
}
