(root, data) => {
  const find = (name) => root.querySelector(name);
  const texts = data.captions;
  for (const each of root.querySelectorAll("[data-name]")) each.textContent = texts[each.dataset.name];
  const unpack = (packed) => {
    const bytes = Uint8Array.from(atob(packed), (each) => each.charCodeAt(0));
    return Float32Array.from(new Uint16Array(bytes.buffer), (each) => each / 65535);
  };
  for (const part of Object.values(data.parts)) {
    part.weights = unpack(part.weights);
    part.rollout = part.rollout && unpack(part.rollout);
  }
  const state = { part: data.part, layer: data.layer ?? -1, head: data.head ?? -1, query: -1, key: -1 };
  const chooser = (name) => find(`[data-choose="${name}"]`);
  // A canvas takes no light-dark(): an element resolves it.
  const probes = Object.fromEntries(["--high", "--low", "--ink", "--panel"].map((name) => {
    const probe = root.appendChild(document.createElement("i"));
    probe.style.color = `var(${name})`;
    return [name, probe];
  }));
  const color = (name) => getComputedStyle(probes[name]).color;

  // The matrix of the chosen layer and head: -1 is the mean, -2 (as a layer) the rollout.
  const cache = new Map();
  const matrix = (layer, head) => {
    const part = data.parts[state.part];
    const size = part.queries.length * part.keys.length;
    if (layer === -2) return part.rollout;
    const name = [state.part, layer, head].join();
    if (cache.has(name)) return cache.get(name);
    const layers = layer < 0 ? [...Array(part.layers).keys()] : [layer];
    const heads = head < 0 ? [...Array(part.heads).keys()] : [head];
    const sum = new Float32Array(size);
    for (const l of layers) for (const h of heads) {
      const start = (l * part.heads + h) * size;
      for (let n = 0; n < size; n++) sum[n] += part.weights[start + n];
    }
    const count = layers.length * heads.length;
    const mean = sum.map((each) => each / count);
    cache.set(name, mean);
    return mean;
  };

  // Weights to colors. Many words share a weight of 1, so most are small: there colors grow with the square root.
  const MANY = 14;
  const STRONGEST = 3;
  const largestOf = (weights) => weights.reduce((most, each) => Math.max(most, each), 1e-9);
  const shade = (weight, largest, words) => words > MANY ? Math.sqrt(weight / largest) : weight / largest;

  const sized = (canvas, width, height) => {
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.ceil(width * ratio);
    canvas.height = Math.ceil(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    return context;
  };
  const font = (size) => `${size}px ${getComputedStyle(document.body).fontFamily}`;
  const widest = (context, words) => Math.max(...words.map((each) => context.measureText(each).width));

  // ---- lines
  const ROW = 24;
  const lines = find('[data-view="lines"]');
  let left = 0;
  const drawLines = () => {
    const part = data.parts[state.part];
    const probe = lines.getContext("2d");
    probe.font = font(16);
    left = widest(probe, part.queries) + 16;
    const right = widest(probe, part.keys) + 16;
    const between = 260;
    const rows = Math.max(part.queries.length, part.keys.length);
    const context = sized(lines, left + between + right, rows * ROW + 8);
    context.font = font(16);
    context.textBaseline = "middle";
    const weights = matrix(state.layer, state.head);
    const width = part.keys.length;
    const largest = width > MANY ? largestOf(weights) : 1;
    // Among many words, all lines would be a solid block: those that are pointed at, or the strongest of each word.
    const few = width <= MANY || state.query >= 0 || state.key >= 0;
    const least = part.queries.map((_, row) =>
      few ? 0.01 * largest : weights.slice(row * width, (row + 1) * width).sort().at(-STRONGEST));
    const y = (row) => row * ROW + ROW / 2 + 4;
    context.strokeStyle = color("--high");
    for (let row = 0; row < part.queries.length; row++) for (let column = 0; column < width; column++) {
      const weight = weights[row * width + column];
      const chosen = state.query < 0 && state.key < 0 || state.query === row || state.key === column;
      const share = weight / largest;
      if (!chosen || weight < least[row]) continue;
      context.globalAlpha = Math.min(1, share + 0.02);
      context.lineWidth = 0.5 + (few ? 5 : 2) * share;
      context.beginPath();
      context.moveTo(left, y(row));
      context.lineTo(left + between, y(column));
      context.stroke();
    }
    context.globalAlpha = 1;
    const label = (word, x, row, align, weight, strong) => {
      context.textAlign = align;
      if (weight !== null) {
        context.fillStyle = color("--high");
        context.globalAlpha = Math.min(0.75, weight);
        const size = context.measureText(word).width + 8;
        context.fillRect(align === "right" ? x - size + 4 : x - 4, y(row) - ROW / 2 + 2, size, ROW - 4);
        context.globalAlpha = 1;
      }
      context.fillStyle = strong ? color("--low") : color("--ink");
      context.fillText(word, x, y(row));
    };
    part.queries.forEach((word, row) =>
      label(word, left - 8, row, "right", state.key < 0 ? null : weights[row * width + state.key], state.query === row));
    part.keys.forEach((word, row) =>
      label(word, left + between + 8, row, "left", state.query < 0 ? null : weights[state.query * width + row],
        state.key === row));
  };
  lines.addEventListener("mousemove", (event) => {
    const part = data.parts[state.part];
    const row = Math.floor((event.offsetY - 4) / ROW);
    const before = [state.query, state.key].join();
    const onLeft = event.offsetX < left + 130;
    state.query = onLeft && row >= 0 && row < part.queries.length ? row : -1;
    state.key = !onLeft && row >= 0 && row < part.keys.length ? row : -1;
    if (before !== [state.query, state.key].join()) drawLines();
  });
  lines.addEventListener("mouseleave", () => {
    state.query = -1;
    state.key = -1;
    drawLines();
  });

  // ---- matrix
  const canvas = find('[data-view="matrix"]');
  const value = find('[data-view="value"]');
  let frame = { x: 0, y: 0, cell: 20 };
  const drawMatrix = () => {
    const part = data.parts[state.part];
    const weights = matrix(state.layer, state.head);
    const count = Math.max(part.queries.length, part.keys.length);
    const cell = count > 80 ? 13 : count > 30 ? 16 : 26;
    const size = Math.min(15, cell - 2);
    const probe = canvas.getContext("2d");
    probe.font = font(size);
    frame = { x: widest(probe, part.queries) + 10, y: widest(probe, part.keys) + 10, cell };
    const width = frame.x + part.keys.length * cell + 4;
    const height = frame.y + part.queries.length * cell + 4;
    const context = sized(canvas, width, height);
    context.font = font(size);
    context.textBaseline = "middle";
    context.fillStyle = color("--ink");
    context.textAlign = "right";
    part.queries.forEach((word, row) => context.fillText(word, frame.x - 6, frame.y + row * cell + cell / 2));
    part.keys.forEach((word, column) => {
      context.save();
      context.translate(frame.x + column * cell + cell / 2, frame.y - 6);
      context.rotate(-Math.PI / 2);
      context.textAlign = "left";
      context.fillText(word, 0, 0);
      context.restore();
    });
    context.fillStyle = color("--panel");
    context.fillRect(frame.x, frame.y, part.keys.length * cell, part.queries.length * cell);
    context.fillStyle = color("--high");
    const largest = largestOf(weights);
    for (let row = 0; row < part.queries.length; row++) for (let column = 0; column < part.keys.length; column++) {
      context.globalAlpha = shade(weights[row * part.keys.length + column], largest, part.keys.length);
      context.fillRect(frame.x + column * cell, frame.y + row * cell, cell - 1, cell - 1);
    }
    context.globalAlpha = 1;
  };
  canvas.addEventListener("mousemove", (event) => {
    const part = data.parts[state.part];
    const row = Math.floor((event.offsetY - frame.y) / frame.cell);
    const column = Math.floor((event.offsetX - frame.x) / frame.cell);
    const inside = row >= 0 && column >= 0 && row < part.queries.length && column < part.keys.length;
    const weight = inside && matrix(state.layer, state.head)[row * part.keys.length + column];
    value.textContent = inside ? `${part.queries[row]} → ${part.keys[column]}: ${weight.toFixed(3)}` : "\u00a0";
  });

  // ---- all heads
  const grid = find('[data-view="grid"]');
  const drawGrid = () => {
    const part = data.parts[state.part];
    const rows = part.queries.length;
    const columns = part.keys.length;
    const across = Math.max(24, Math.min(76, Math.floor((root.clientWidth - 90) / part.heads) - 12));
    const scale = Math.max(1, Math.floor(across / Math.max(rows, columns)));
    const largest = columns > MANY ? largestOf(part.weights) : 1;
    grid.style.gridTemplateColumns = `auto repeat(${part.heads}, auto)`;
    const corner = document.createElement("span");
    corner.textContent = `${data.captions.layer_name} \\ ${data.captions.head_name}`;
    grid.replaceChildren(corner);
    for (let head = 0; head < part.heads; head++) {
      const name = document.createElement("span");
      name.textContent = head;
      grid.append(name);
    }
    for (let layer = 0; layer < part.layers; layer++) {
      const name = document.createElement("span");
      name.textContent = layer;
      grid.append(name);
      for (let head = 0; head < part.heads; head++) {
        const button = document.createElement("button");
        button.title = `${texts.layer_name} ${layer}, ${texts.head_name} ${head}`;
        button.setAttribute("aria-pressed", layer === state.layer && head === state.head);
        const small = document.createElement("canvas");
        const context = sized(small, columns * scale, rows * scale);
        context.fillStyle = color("--high");
        const weights = matrix(layer, head);
        for (let row = 0; row < rows; row++) for (let column = 0; column < columns; column++) {
          context.globalAlpha = shade(weights[row * columns + column], largest, columns);
          context.fillRect(column * scale, row * scale, scale, scale);
        }
        button.append(small);
        button.addEventListener("click", () => {
          state.layer = layer;
          state.head = head;
          fill();
          draw();
          lines.scrollIntoView({ block: "nearest" });
        });
        grid.append(button);
      }
    }
  };

  // ---- choices
  const options = (name, values, chosen) => {
    chooser(name).replaceChildren(...values.map(([id, text]) => new Option(text, id, false, id === chosen)));
  };
  const fill = () => {
    const part = data.parts[state.part];
    const numbers = (count) => [...Array(count).keys()].map((each) => [each, `${each}`]);
    options("part", Object.keys(data.parts).map((name) => [name, texts[name]]), state.part);
    const layers = [[-1, texts.mean], ...numbers(part.layers)];
    if (part.rollout) layers.push([-2, "rollout"]);
    options("layer", layers, state.layer);
    options("head", [[-1, texts.mean], ...numbers(part.heads)], state.head);
    chooser("head").disabled = state.layer === -2;
  };
  const draw = () => {
    drawLines();
    drawMatrix();
    for (const [number, button] of [...grid.querySelectorAll("button")].entries()) {
      const heads = data.parts[state.part].heads;
      button.setAttribute("aria-pressed", number === state.layer * heads + state.head);
    }
  };
  chooser("part").addEventListener("change", () => {
    Object.assign(state, { part: chooser("part").value, layer: -1, head: -1, query: -1, key: -1 });
    fill();
    drawGrid();
    draw();
  });
  for (const name of ["layer", "head"]) chooser(name).addEventListener("change", () => {
    state[name] = Number(chooser(name).value);
    fill();
    draw();
  });
  fill();
  drawGrid();
  draw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { drawGrid(); draw(); });
}
