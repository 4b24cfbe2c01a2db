// Colours for code, loaded with the first block of code that names a language it knows.

import { createLowlight } from "lowlight";
import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import cpp from "highlight.js/lib/languages/cpp";
import csharp from "highlight.js/lib/languages/csharp";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import kotlin from "highlight.js/lib/languages/kotlin";
import markdown from "highlight.js/lib/languages/markdown";
import php from "highlight.js/lib/languages/php";
import python from "highlight.js/lib/languages/python";
import r from "highlight.js/lib/languages/r";
import ruby from "highlight.js/lib/languages/ruby";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import swift from "highlight.js/lib/languages/swift";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";

const languages = {
  bash, c, cpp, csharp, css, diff, go, ini, java, javascript, json, kotlin, markdown, php, python, r, ruby, rust, sql,
  swift, typescript, xml, yaml,
};
const known = createLowlight(languages);

/** A run of code in one colour; `kind` is empty for plain code. */
export interface Run {
  text: string;
  kind: string;
}

interface Node {
  type: string;
  value?: string;
  children?: Node[];
  properties?: { className?: string[] };
}

/** The code in runs, or null for a language that is not known. */
export function runs(code: string, language: string): Run[] | null {
  if (!known.registered(language)) return null;
  const found: Run[] = [];
  const walk = (node: Node, kind: string): void => {
    if (node.type === "text") found.push({ text: node.value ?? "", kind });
    const own = node.properties?.className?.find((name) => name.startsWith("hljs-"))?.slice(5);
    for (const child of node.children ?? []) walk(child, own ?? kind);
  };
  walk(known.highlight(language, code) as Node, "");
  return found;
}
