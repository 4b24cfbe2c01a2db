import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";

// Built files land in the Python package, so that an installed Ricordo needs no Node.
export default defineConfig({
  plugins: [svelte()],
  build: {
    outDir: "../src/ricordo/web",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
    target: "es2022",
  },
  server: { proxy: { "^/(?!src|node_modules|@|assets|index.html|$)": "http://127.0.0.1:8377" } },
});
