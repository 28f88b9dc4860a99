import { describe, expect, it } from 'vitest';
import { contentItemSchema, contentPartSchema } from '../../src/schema/zod-schemas.ts';
import { checkRunInput } from '../../src/core/input-checks.ts';

describe('a content item from outside', () => {
  it('keeps its declared fields and drops the rest', () => {
    const item = { type: 'message', role: 'user', content: 'hi' };
    expect(contentItemSchema.parse({ ...item, extra: 1 })).toEqual(item);
  });

  it('takes any JSON values as the content of a result, and nothing else', () => {
    const result = { type: 'tool_result', toolCallId: 'c', name: 'n', status: 'success' };
    expect(contentItemSchema.safeParse({ ...result, content: [{ a: [null] }, 2, 'x'] }).success).toBe(true);
    expect(contentItemSchema.safeParse({ ...result, content: [undefined] }).success).toBe(false);
    expect(contentItemSchema.safeParse({ ...result, content: [() => 1] }).success).toBe(false);
  });

  it('takes only an object as arguments', () => {
    const call = { type: 'tool_call', toolCallId: 'c', name: 'n' };
    expect(contentItemSchema.safeParse({ ...call, arguments: {} }).success).toBe(true);
    expect(['{}', [], null, undefined].map((args) => contentItemSchema.safeParse({ ...call, arguments: args }).success)).toEqual([
      false,
      false,
      false,
      false,
    ]);
  });
});

describe('a part of a message', () => {
  const parts: [unknown, boolean][] = [
    [{ type: 'text', text: 'x' }, true],
    [{ type: 'text' }, false],
    [{ type: 'image', url: 'u', width: 1, height: 2 }, true],
    [{ type: 'image', data: 'd', mediaType: 'image/png' }, true],
    [{ type: 'image' }, false],
    [{ type: 'image', url: 'u', data: 'd' }, false],
    [{ type: 'image', url: 'u', width: '1' }, false],
    [{ type: 'audio', data: 'd', format: 'wav' }, true],
    [{ type: 'video', url: 'u', format: 'mp4' }, true],
    [{ type: 'file', url: 'u', name: 'a.pdf' }, true],
    [{ type: 'smell', url: 'u' }, false],
  ];

  it.each(parts)('%j: %s, here and as the input of a run', (part, valid) => {
    expect(contentPartSchema.safeParse(part).success).toBe(valid);
    expect(checkRunInput({ agent: 'a', input: [part] }).ok).toBe(valid);
  });
});
