import type { CallToolResult } from '@modelcontextprotocol/client';
import { expect, test } from 'vitest';
import { type McpContent, resultContent } from '../../../activities/mcp/result-content.ts';

function converted(result: unknown): McpContent {
  return resultContent(result as CallToolResult);
}

test('several texts become one text', () => {
  const content = [
    { type: 'text', text: 'one' },
    { type: 'text', text: 'two' },
  ];
  expect(converted({ content })).toEqual({ content: ['one\ntwo'], isError: false });
});

test('a result without content has none', () => {
  expect(converted({ content: [] })).toEqual({ content: [], isError: false });
});

test('a result that the server marks as an error is an error', () => {
  expect(converted({ content: [{ type: 'text', text: 'no such file' }], isError: true })).toEqual({
    content: ['no such file'],
    isError: true,
  });
});

test('images and audio become parts, after the text', () => {
  const content = [
    { type: 'image', data: 'aGk=', mimeType: 'image/png' },
    { type: 'text', text: 'a picture' },
    { type: 'audio', data: 'aGk=', mimeType: 'audio/wav' },
  ];
  expect(converted({ content }).content).toEqual([
    'a picture',
    { type: 'image', data: 'aGk=', mediaType: 'image/png' },
    { type: 'audio', data: 'aGk=', mediaType: 'audio/wav' },
  ]);
});

test('a resource becomes its text, or a file', () => {
  const content = [
    { type: 'resource', resource: { uri: 'file:///a.txt', mimeType: 'text/plain', text: 'inside' } },
    { type: 'resource', resource: { uri: 'file:///dir/b.zip', mimeType: 'application/zip', blob: 'aGk=' } },
    { type: 'resource', resource: { uri: 'file:///c.png', mimeType: 'image/png', blob: 'aGk=' } },
  ];
  expect(converted({ content }).content).toEqual([
    '[Resource file:///a.txt]\ninside',
    { type: 'file', name: 'b.zip', data: 'aGk=', mediaType: 'application/zip' },
    { type: 'image', data: 'aGk=', mediaType: 'image/png' },
  ]);
});

test('a link to a resource becomes a text, so that no provider follows it', () => {
  const content = [
    { type: 'resource_link', name: 'notes', uri: 'https://example.com/notes', mimeType: 'text/plain', description: 'Of today' },
  ];
  expect(converted({ content }).content).toEqual(['[Resource "notes" at https://example.com/notes (text/plain: Of today)]']);
});

test('structured content is the value, and its text form is dropped', () => {
  const structuredContent = { sum: 3, parts: ['a'] };
  expect(converted({ content: [], structuredContent }).content).toEqual([structuredContent]);
  expect(converted({ content: [{ type: 'text', text: '{"sum": 3, "parts": ["a"]}' }], structuredContent }).content).toEqual([
    structuredContent,
  ]);
});

test('structured content that looks like an image part is not taken for an image', () => {
  const structuredContent = { type: 'image', url: 'https://example.com/track.png' };
  expect(converted({ content: [], structuredContent }).content).toEqual([{ structuredContent }]);
});

test('a text that structured content only wraps is kept as text', () => {
  expect(converted({ content: [{ type: 'text', text: 'line\nline' }], structuredContent: { content: 'line\nline' } }).content).toEqual([
    'line\nline',
  ]);
});

test('text and structured content that differ become one value', () => {
  const content = [{ type: 'text', text: 'It is warm.' }];
  expect(converted({ content, structuredContent: { celsius: 30 } }).content).toEqual([
    { text: 'It is warm.', structuredContent: { celsius: 30 } },
  ]);
});

test('lone surrogates are replaced', () => {
  expect(converted({ content: [{ type: 'text', text: 'a\ud800b' }] }).content).toEqual(['a\ufffdb']);
});

test.each([
  ['an unknown type', { type: 'hologram', data: 'x' }, 'of a type'],
  ['an image that is not base64', { type: 'image', data: '<script>', mimeType: 'image/png' }, 'not base64'],
  ['an image without data', { type: 'image', mimeType: 'image/png' }, 'not base64'],
  ['a text part without a text', { type: 'text', text: 7 }, 'lacks "text"'],
  ['a resource without an address', { type: 'resource', resource: { text: 'x' } }, 'lacks "uri"'],
])('%s gives an error result that names the problem', (_, block, problem) => {
  expect(converted({ content: [block] })).toEqual({ content: [expect.stringContaining(problem)], isError: true });
});

test('structured content that is nested too deep gives an error result', () => {
  let value: unknown = 1;
  for (let depth = 0; depth < 200; depth += 1) value = [value];
  expect(converted({ content: [], structuredContent: { value } })).toEqual({
    content: [expect.stringContaining('nested too deep')],
    isError: true,
  });
});
