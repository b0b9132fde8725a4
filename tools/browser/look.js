// What a reader sees in one element, mostly a cell's output: its pictures, its texts, and what is cut off or hard to read.
// It is evaluated to a function of the element; tools/browser/pictures.py holds the names of what it returns.
async root => {
    const visible = e => e.checkVisibility({ visibilityProperty: true, opacityProperty: true });
    const label = e => (e.getAttribute('aria-label') || e.getAttribute('alt') || e.querySelector(':scope > title')?.textContent || '').trim();
    const description = e => (e.querySelector(':scope > desc')?.textContent || e.getAttribute('alt') || '').trim();

    // Colours: [r, g, b, alpha] of what the computed style says, the background under a point, and their contrast (WCAG 2).
    const colour = text => {
        const m = /^(?:rgba?|color)\((?:srgb )?([^)]*)\)/.exec(text);
        if (!m) return null;
        const numbers = m[1].split(/[\s,/]+/).filter(Boolean).map(Number);
        const scale = text.startsWith('color') ? 255 : 1;
        return [...numbers.slice(0, 3).map(v => v * scale), numbers[3] ?? 1];
    };
    const over = (top, bottom) => [0, 1, 2].map(i => top[i] * top[3] + bottom[i] * (1 - top[3])).concat(1);
    const luminance = c => {
        const [r, g, b] = c.slice(0, 3).map(v => v / 255).map(v => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const contrast = (a, b) => {
        const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x);
        return (light + 0.05) / (dark + 0.05);
    };
    const behind = e => {  // of an HTML element: its ancestors' backgrounds, down to the page's
        if (!e) return [255, 255, 255, 1];
        const own = colour(getComputedStyle(e).backgroundColor) ?? [0, 0, 0, 0];
        return own[3] >= 1 ? own : over(own, behind(e.parentElement));
    };
    const painted = e => {
        const style = getComputedStyle(e), fill = colour(style.fill);
        return fill && [fill[0], fill[1], fill[2], fill[3] * style.fillOpacity * style.opacity];
    };
    const SHAPES = 'rect,polygon,path,circle,ellipse,polyline,line,text,image';
    const under = (svg, text) => {  // of a text in a drawing: the shapes drawn before it at its middle
        const box = text.getBoundingClientRect(), x = box.x + box.width / 2, y = box.y + box.height / 2;
        let result = behind(svg);
        for (const e of svg.querySelectorAll('rect,polygon,path,circle,ellipse')) {
            if (!(e.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_FOLLOWING)) break;
            const b = e.getBoundingClientRect(), paint = painted(e);
            if (paint && paint[3] > 0 && b.left <= x && x <= b.right && b.top <= y && y <= b.bottom) result = over(paint, result);
        }
        return result;
    };
    const big = style => parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 600);

    // Cut off: sticks out of an ancestor that neither shows nor scrolls what sticks out.
    const cut = e => {
        const box = e.getBoundingClientRect();
        for (let a = e.parentElement; a && a !== root.parentElement; a = a.parentElement) {
            const style = getComputedStyle(a), frame = a.getBoundingClientRect();
            if (/auto|scroll/.test(style.overflowX)) return false;
            if (/hidden|clip/.test(style.overflowX) && box.right > frame.right + 1) return true;
        }
        return false;
    };

    const faint = [], outside = [];
    const judge = (text, ink, paper, style) => {
        const ratio = contrast(over(ink, paper), paper);
        if (ratio < (big(style) ? 3 : 4.5)) faint.push({ text: text.trim().slice(0, 40), ratio: Math.round(ratio * 100) / 100 });
    };
    await Promise.all([...root.querySelectorAll('img')].map(e => e.decode().catch(() => {})));
    const pictures = [...root.querySelectorAll('svg,img,canvas')].filter(e => !e.parentElement.closest('svg') && visible(e)).map(e => {
        const box = e.getBoundingClientRect();
        let marks = 0;
        if (e.matches('svg')) {
            for (const shape of e.querySelectorAll(SHAPES)) {
                const b = shape.getBoundingClientRect();
                if (b.width + b.height > 0) marks += 1;
                if (!shape.matches('text') || !shape.textContent.trim()) continue;
                if (b.right > box.right + 1 || b.left < box.left - 1 || b.bottom > box.bottom + 1 || b.top < box.top - 1)
                    outside.push(shape.lastChild.textContent.slice(0, 40));
                judge(shape.lastChild.textContent, painted(shape), under(e, shape), getComputedStyle(shape));
            }
        } else marks = e.complete === false || e.naturalWidth === 0 ? 0 : 1;
        return { tag: e.tagName.toLowerCase(), width: box.width, height: box.height, label: label(e), description: description(e), marks, cut: cut(e) };
    });

    const glaring = [];
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const text = walker.currentNode, e = text.parentElement;
        if (!text.data.trim() || e.closest('svg,style,script,title') || !visible(e)) continue;
        const style = getComputedStyle(e), paper = behind(e);
        judge(text.data, colour(style.color), paper, style);
        if (cut(e)) outside.push(text.data.trim().slice(0, 40));
    }
    for (const e of [...root.querySelectorAll('*')].filter(visible)) {
        const box = e.getBoundingClientRect(), own = e.closest('svg') ? (e.matches('rect') ? painted(e) : null) : colour(getComputedStyle(e).backgroundColor);
        if (own && own[3] > 0.5 && luminance(own) > 0.75 && box.width * box.height > 10000)
            glaring.push(`${e.tagName.toLowerCase()}.${e.getAttribute('class') ?? ''} ${Math.round(box.width)}x${Math.round(box.height)}`);
    }
    return { pictures, faint, outside, glaring };
}
