import {
  commentBefore,
  type Declaration,
  declarationIn,
  isNode,
  membersOfConstants,
  nameOf,
  type SyntaxNode,
  textOf,
  walk,
} from './declarations.ts';

/** A member of an exported interface or class, with the comment that an editor shows. */
export interface Member {
  name: string;
  file: string;
  comment: string | undefined;
  isOptional: boolean;
}

/** Returns the doc comment of a declaration: of any of its overloads. */
export function commentOf({ file, nodes }: Declaration): string | undefined {
  return nodes.map((node) => commentBefore(file, node)).find((comment) => comment !== undefined);
}

/**
 * Returns the members of an interface or a class, and those that it has from bases which the package declares: interfaces, classes, and
 * shapes (`extends ObjectOf<typeof POINT>`). The members of other types have comments where they are declared, or none.
 */
export function membersOf(declaration: Declaration, seen = new Set<SyntaxNode>()): Member[] {
  const { file, nodes } = declaration;
  const all = nodes.flatMap((node) => {
    if (seen.has(node)) return [];
    seen.add(node);
    const own = isNode(node['body']) && Array.isArray(node['body']['body']) ? node['body']['body'].filter(isNode) : [];
    return [...ownMembers(file, own), ...basesOf(node).flatMap((base) => inherited(file, base, seen))];
  });
  return mergedByName(all);
}

function ownMembers(file: string, nodes: readonly SyntaxNode[]): Member[] {
  return nodes.flatMap((node) => {
    const name = nameOf(node['key']);
    if (name === '' || name.startsWith('#') || node['accessibility'] === 'private' || node['key'] === undefined) return [];
    if (isNode(node['key']) && node['key'].type === 'PrivateIdentifier') return [];
    return [{ name, file, comment: commentBefore(file, node), isOptional: node['optional'] === true }];
  });
}

/** What a declaration extends: of an interface several, of a class one. */
function basesOf(node: SyntaxNode): SyntaxNode[] {
  const bases = [node['extends'], node['superClass']].flat().filter(isNode);
  return node.type === 'TSInterfaceDeclaration' || node.type === 'ClassDeclaration' ? bases : [];
}

function inherited(file: string, base: SyntaxNode, seen: Set<SyntaxNode>): Member[] {
  const expression = isNode(base['expression']) ? base['expression'] : base;
  if (['ObjectOf', 'ValueOf'].includes(nameOf(expression))) return shapeMembers(file, base, seen);
  const found = declarationIn(file, nameOf(expression));
  return found === undefined ? [] : membersOf(found, seen);
}

/** Returns the members of the shape in `ObjectOf<typeof POINT>`, by the type of the constant. */
function shapeMembers(file: string, base: SyntaxNode, seen: Set<SyntaxNode>): Member[] {
  const names: string[] = [];
  walk(base, (node) => {
    if (node.type === 'TSTypeQuery') names.push(nameOf(node['exprName']));
  });
  return names.flatMap((name) => {
    const constant = declarationIn(file, name);
    const [node] = constant?.nodes ?? [];
    if (constant === undefined || node === undefined || seen.has(node)) return [];
    let literal: SyntaxNode | undefined;
    walk(node, (one) => {
      if (one.type === 'TSTypeLiteral') literal ??= one;
    });
    const written = Array.isArray(literal?.['members']) ? literal['members'].filter(isNode) : [];
    return ownMembers(constant.file, written).map((member, at) => ({
      ...member,
      comment: member.comment ?? spreadComment(constant.file, written[at]!),
    }));
  });
}

/**
 * A shape that spreads another one has its members in the file of types, without comments, which are where the spread shape is declared.
 */
function spreadComment(file: string, member: SyntaxNode): string | undefined {
  const type = typeOf(textOf(file, member));
  return membersOfConstants('src/core/domain').find((one) => one.comment !== undefined && typeOf(one.text) === type)?.comment;
}

/** Returns the text of a member, equal in files that import its types and in those that declare them. */
function typeOf(member: string): string {
  return member.replaceAll(/import\("[^"]*"\)\.|\/\*\*[^]*?\*\/|\s/g, '');
}

/** An overload, a setter or a base may have the comment. */
function mergedByName(members: readonly Member[]): Member[] {
  const byName = new Map<string, Member>();
  for (const member of members) {
    const known = byName.get(member.name);
    byName.set(member.name, known === undefined || (known.comment === undefined && member.comment !== undefined) ? member : known);
  }
  return [...byName.values()];
}
