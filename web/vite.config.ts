import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";

export default defineConfig({
  base: "./",
  plugins: [svelte()],
  build: {
    outDir: "../inlaid/view/explorer/page",
    emptyOutDir: true,
    cssCodeSplit: false,
    modulePreload: false,
    target: "es2022",
    assetsInlineLimit: 0,
    rollupOptions: {
      output: { entryFileNames: "explorer.js", assetFileNames: "explorer[extname]", codeSplitting: false },
    },
  },
  server: { proxy: { "/api": "http://127.0.0.1:8765", "/explorer": "http://127.0.0.1:8765" } },
  test: { include: ["src/**/*.test.ts"] },
});
