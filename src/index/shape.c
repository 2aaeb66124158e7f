/*-------------------------------------------------------------------------
 *
 * shape.c
 *	  The shape of a board's keys: how many words their columns take.
 *
 *-------------------------------------------------------------------------
 */
#include "index/shape.h"

LbShape
lb_make_shape(const uint8 *columns, int nrank, int ncolumns)
{
	LbShape		shape;
	int			width = 0;
	int			texts = 0;

	memset(&shape, 0, sizeof(shape));
	Assert(nrank >= 1 && nrank < ncolumns && ncolumns <= LB_MAX_KEY_COLUMNS);
	for (int i = 0; i < ncolumns; i++)
	{
		bool		varies = columns[i] >= LB_TEXT;
		int			words = varies ? LB_INLINE_TEXT_WORDS : columns[i];

		texts += varies;
		width += words;
		if (i >= nrank)
			shape.member_words += (uint8) words;
	}
	shape.width = (uint8) width;
	if (texts > 0)
	{
		shape.width = (uint8) Min(width + 1, LB_MAX_WIDTH);
		shape.member_words = 0;
		shape.ncolumns = (uint8) ncolumns;
		shape.nrank = (uint8) nrank;
		memcpy(shape.columns, columns, ncolumns);
	}
	return shape;
}

int
lb_count_words(const LbShape *shape, int first, int last, const int64 *words)
{
	int			n = 0;

	for (int i = first; i < last; i++)
	{
		uint8		column = shape->columns[i];
		uint8		end = column == LB_TEXT ? 0 : 0xff;

		if (column < LB_TEXT)
			n += column;
		else
			while ((uint8) words[n++] != end)
				;
	}
	return n;
}

/* Whether nwords words have the form of the columns from number first on. */
static bool
are_columns(const LbShape *shape, int first, const int64 *words, int nwords)
{
	int			n = 0;

	for (int i = first; i < shape->ncolumns; i++)
	{
		uint8		column = shape->columns[i];
		uint8		end = column == LB_TEXT ? 0 : 0xff;

		if (column < LB_TEXT)
			n += column;
		else
		{
			while (n < nwords && (uint8) words[n] != end)
				n++;
			n++;
		}
		if (n > nwords)
			return false;
	}
	return n == nwords;
}

bool
lb_is_key(const LbShape *shape, const int64 *words, int nwords)
{
	return lb_shape_varies(shape) ? are_columns(shape, 0, words, nwords) :
		nwords == shape->width;
}

bool
lb_is_member(const LbShape *shape, const int64 *words, int nwords)
{
	return lb_shape_varies(shape) ?
		are_columns(shape, shape->nrank, words, nwords) :
		nwords == shape->member_words;
}
