import { describe, expect, it } from 'vitest';
import { type ContentPart, mediaTypes, outputText } from '../../../../src/core/domain/content.ts';
import { resultText } from '../../../../src/core/domain/tool-calls.ts';

describe('an output as text', () => {
  it('joins parts by blanks and names media', () => {
    const parts: ContentPart[] = [
      { type: 'text', text: 'See' },
      { type: 'image', url: 'u', width: 640, height: 480 },
      { type: 'audio', data: 'd', format: 'wav' },
      { type: 'video', url: 'u', format: 'mp4' },
      { type: 'file', url: 'u', name: 'a.pdf' },
    ];
    expect(outputText(parts)).toBe('See [Image: 640x480] [Audio: wav] [Video: mp4] [File: a.pdf]');
  });

  it('names media without further data', () => {
    expect(outputText([{ type: 'image', url: 'u' }])).toBe('[Image]');
  });

  it.each([
    ['plain', 'plain'],
    [null, ''],
    [undefined, ''],
    [{ answer: 4 }, '{"answer":4}'],
    [[1, 2], '[1,2]'],
    [[], '[]'],
    [[{ type: 'unheard of' }], '[{"type":"unheard of"}]'],
  ])('of %j is %j', (output, text) => {
    expect(outputText(output)).toBe(text);
  });
});

describe('the kinds of content', () => {
  it('are sorted, and each is named once', () => {
    const image: ContentPart = { type: 'image', url: 'u' };
    expect(mediaTypes([{ type: 'text', text: 't' }, image, image, { type: 'audio', url: 'u' }])).toEqual(['audio', 'image', 'text']);
  });

  it('are none for an object, because it is data', () => {
    expect(mediaTypes({ type: 'image' })).toEqual([]);
    expect(mediaTypes('')).toEqual([]);
  });
});

describe('a tool result as text', () => {
  it('joins text blocks with line breaks and writes other values as JSON', () => {
    expect(resultText(['a', 'b'])).toBe('a\nb');
    expect(resultText([{ a: 1 }, 2, null])).toBe('{"a":1}\n2\nnull');
    expect(resultText([])).toBe('');
  });
});
